// How mails leave: by SMTP (RFC 5321), over a few connections that a process keeps.

import { createTransport } from 'nodemailer'
import type { Config } from '../config.ts'

const CONNECTIONS_MAX = 4
const CONNECT_TIMEOUT_MS = 10_000
/** Between two bytes of the server. */
const SILENCE_TIMEOUT_MS = 20_000
/** Of one mail, whatever the server does. */
const SEND_TIMEOUT_MS = 60_000

/** Codes of nodemailer for what the server said of this mail, not of the connection or of us. */
const ABOUT_THE_MAIL = ['EENVELOPE', 'EMESSAGE']
const COMMAND = /^[A-Z][A-Z ]{0,19}$/
const REPLY = /^[45][0-9]{2}(?:[ -][45]\.[0-9]{1,3}\.[0-9]{1,3})?/

export type OutgoingMail = {
  /** Names the mail to whoever gets it twice. */
  readonly id: string
  readonly recipient: string
  readonly subject: string
  readonly text: string
}

/**
 * Why a mail was not taken, by codes alone: the sentences of a server repeat addresses. `final`: the server refused this
 * mail for good, by a reply 5yz (RFC 5321 §4.2.1); a login that it refuses concerns no mail, and its operator mends it.
 */
export type Refusal = { readonly reason: string; readonly final: boolean }

export type Mailer = {
  /** @returns null where the server took the mail. */
  send(mail: OutgoingMail): Promise<Refusal | null>
}

const textOf = (error: Error, name: string): string => {
  const value: unknown = Reflect.get(error, name)
  return typeof value === 'string' ? value : ''
}

const refusalOf = (error: unknown): Refusal => {
  if (!(error instanceof Error)) return { reason: 'unknown', final: false }
  const code = textOf(error, 'code')
  const reply = (REPLY.exec(textOf(error, 'response'))?.[0] ?? '').replace('-', ' ')
  const command = COMMAND.exec(textOf(error, 'command'))?.[0] ?? ''
  const reason = [code || error.name, reply, command].filter((part) => part !== '').join(' ')
  return { reason, final: ABOUT_THE_MAIL.includes(code) && reply.startsWith('5') }
}

const isLoopback = (hostname: string): boolean => /^(?:localhost|127(?:\.[0-9]+){3}|\[::1\])$/.test(hostname)

/**
 * Nothing is connected before the first mail. To another machine the connection is encrypted or none is made, unless the
 * URL says `?requireTLS=false`; what else a URL's query sets is nodemailer's to say.
 * @returns null where there is no MAIL_URL.
 */
export const createMailer = (config: Pick<Config, 'mailUrl' | 'mailFrom' | 'publicBaseUrl'>): Mailer | null => {
  if (config.mailUrl === null) return null
  const url = config.mailUrl.reveal()
  const transport = createTransport({
    url,
    pool: true,
    maxConnections: CONNECTIONS_MAX,
    // A mail whose connection was lost is tried again by the queue, which other processes share.
    maxRequeues: 0,
    requireTLS: !isLoopback(new URL(url).hostname),
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    dnsTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const { hostname } = new URL(config.publicBaseUrl)
  return {
    send: async ({ id, recipient, subject, text }) => {
      try {
        await transport.sendMail({
          from: config.mailFrom,
          // An object, as a text would be read as a list.
          to: { name: '', address: recipient },
          subject,
          text,
          messageId: `<${id}@${hostname}>`,
          headers: { 'Auto-Submitted': 'auto-generated' },
          signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
        })
        return null
      } catch (error) {
        return refusalOf(error)
      }
    },
  }
}
