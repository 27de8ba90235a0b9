// E-mail addresses as they are taken in: one form of each, so that one mailbox is one user. What is kept is also what is
// written to: whoever proves an address has read the mail that went to just that.

import { domainToASCII } from 'node:url'
import { AppError } from '../errors.ts'

/** RFC 5321 §4.5.3.1, in octets. */
const LOCAL_OCTETS_MAX = 64
const ADDRESS_OCTETS_MAX = 254
/** RFC 5322's `atext`, and by RFC 6531 whatever is not ASCII, but no kind of space or control. */
const ATOM = '[^\\p{Z}\\p{C}()<>[\\]:;@\\\\,".]+'
/** RFC 5321 §4.1.2, Dot-string: dots stand between atoms alone. The other form, in quotes, is not taken. */
const LOCAL = new RegExp(`^${ATOM}(?:\\.${ATOM})*$`, 'u')
/** What a name may be made of; a domain in brackets is not taken. */
const DOMAIN = /^[\p{L}\p{M}\p{N}.-]+$/u
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
 * An address in its one form: Unicode's NFC, in lower case (mail servers that tell letter cases apart are unheard of, though
 * RFC 5321 §2.4 lets them), the domain as IDNA's ASCII form (UTS 46).
 * @throws invalid_input
 */
export const readEmailAddress = (text: string): string => {
  const [local = '', domainText = '', ...more] = text.normalize('NFC').toLowerCase().normalize('NFC').split('@')
  const domain = domainOf(domainText)
  const address = `${local}@${domain}`
  const fits = Buffer.byteLength(local) <= LOCAL_OCTETS_MAX && Buffer.byteLength(address) <= ADDRESS_OCTETS_MAX
  if (domain !== null && more.length === 0 && LOCAL.test(local) && fits) return address
  throw new AppError('invalid_input', 'Field "email" must be an e-mail address, such as alice@example.com.')
}
