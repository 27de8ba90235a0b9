// E-mail addresses in one normalised form, so that one mailbox is one user. We store and write to this same form, so a
// user who proves an address has read the mail that went to exactly it.

import { domainToASCII } from 'node:url'
import { invalidInput } from '../../platform/errors.ts'

/** RFC 5321 §4.5.3.1, in octets. */
const LOCAL_OCTETS_MAX = 64
const ADDRESS_OCTETS_MAX = 254
/** RFC 5322's `atext`, and all of non-ASCII (RFC 6531) except spaces and control characters. */
const ATOM = '[^\\p{Z}\\p{C}()<>[\\]:;@\\\\,".]+'
/** RFC 5321 §4.1.2, Dot-string: dots only between atoms. We do not accept quoted strings. */
const LOCAL = new RegExp(`^${ATOM}(?:\\.${ATOM})*$`, 'u')
/** A host name, also with the full stops of keyboards of East Asia (UTS 46). No address literals. */
const DOMAIN = /^[\p{L}\p{M}\p{N}.\u3002\uff0e\uff61-]+$/u
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const NUMBER = /^[0-9]+$/

const domainOf = (text: string): string | null => {
  if (!DOMAIN.test(text)) return null
  const domain = domainToASCII(text)
  const labels = domain.split('.')
  const isName = labels.length >= 2 && labels.every((label) => LABEL.test(label)) && !NUMBER.test(labels.at(-1) ?? '')
  return isName ? domain : null
}

/**
 * One form: Unicode NFC, lower case, and the domain in IDNA's ASCII (UTS 46). RFC 5321 §2.4 lets a server distinguish
 * cases in the local part, but we know of none that does.
 */
export const readEmailAddress = (text: string): string => {
  const [local = '', domainText = '', ...more] = text.normalize('NFC').toLowerCase().normalize('NFC').split('@')
  const domain = domainOf(domainText)
  const address = `${local}@${domain}`
  const fits = Buffer.byteLength(local) <= LOCAL_OCTETS_MAX && Buffer.byteLength(address) <= ADDRESS_OCTETS_MAX
  if (domain !== null && more.length === 0 && LOCAL.test(local) && fits) return address
  throw invalidInput('Field "email" must be an e-mail address, such as alice@example.com.')
}
