// Sends mails by SMTP (RFC 5321), over a few connections per process.

import type { Config } from '../../platform/config.ts'

const CONNECTIONS_MAX = 4
const CONNECT_TIMEOUT_MS = 10_000
/** The longest time without a byte from the server. */
const SILENCE_TIMEOUT_MS = 20_000
const SEND_TIMEOUT_MS = 60_000

/** Nodemailer's error codes that concern this mail, not the connection or our configuration. */
const ABOUT_THE_MAIL = ['EENVELOPE', 'EMESSAGE']
const COMMAND = /^[A-Z][A-Z ]{0,19}$/
const REPLY = /^[45][0-9]{2}(?:[ -][45]\.[0-9]{1,3}\.[0-9]{1,3})?/

type OutgoingMail = {
  /** Goes into the Message-ID, so that a recipient who gets a mail twice can tell. */
  readonly id: string
  readonly recipient: string
  readonly subject: string
  readonly text: string
}

/**
 * Why a mail was refused, as codes only: a server's sentences repeat addresses. `final`: the server refused this mail
 * for good with a reply 5yz (RFC 5321 §4.2.1). A refused login is not final, because the operator can correct it.
 */
type Refusal = { readonly reason: string; readonly final: boolean }

type Mailer = {
  /** @returns null if the server accepted the mail. */
  send(mail: OutgoingMail): Promise<Refusal | null>
  /** Connects to the server and logs in. @returns null if that worked. */
  tryServer(): Promise<Refusal | null>
}

/** null if no mail is sent. Only the worker connects to the server. */
export type HasMailer = { readonly mailer: Mailer | null }

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
 * Connects at the first mail; encrypted to other machines, unless the URL says `?requireTLS=false`. Nodemailer reads
 * the other parameters of the URL. @returns null without MAIL_URL.
 */
export const createMailer = async (
  config: Pick<Config, 'mailUrl' | 'mailFrom' | 'publicBaseUrl'>,
): Promise<Mailer | null> => {
  if (config.mailUrl === null) return null
  // Loaded only where mail is sent: 650 kB of code.
  const { createTransport } = await import('nodemailer')
  const url = config.mailUrl.reveal()
  const transport = createTransport({
    url,
    pool: true,
    maxConnections: CONNECTIONS_MAX,
    // The job queue retries a mail whose connection was lost; any process may do it.
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
    tryServer: async () => {
      try {
        await transport.verify()
        return null
      } catch (error) {
        return refusalOf(error)
      }
    },
    send: async ({ id, recipient, subject, text }) => {
      try {
        await transport.sendMail({
          from: config.mailFrom,
          // As an object, because nodemailer would read a text as a list.
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
