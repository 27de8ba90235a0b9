import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { SMTPServer } from 'smtp-server'

export type ReceivedMail = {
  readonly from: string
  readonly to: readonly string[]
  /** The text as received: headers, an empty line, the body. */
  readonly raw: string
}

/** The server's answer instead of acceptance, once. */
type Refusal = { readonly at: 'RCPT' | 'DATA'; readonly code: number; readonly text: string }

const fail = ({ code, text }: Refusal) => Object.assign(new Error(text), { responseCode: code })

/** The body of a mail, decoded from its transfer encoding. */
export const textOf = (mail: ReceivedMail): string => {
  const end = mail.raw.indexOf('\r\n\r\n')
  const body = mail.raw.slice(end + 4)
  const encoding = /^content-transfer-encoding: *(\S+)/im.exec(mail.raw.slice(0, end))?.[1]
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString()
  if (encoding !== 'quoted-printable') return body
  const bytes = body
    .replaceAll('=\r\n', '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}

/** The six-digit code in a mail. */
export const codeOf = (mail: ReceivedMail): string => /\b[0-9]{6}\b/.exec(textOf(mail))?.[0] ?? 'none'

/**
 * A mail server that stores its mails. @param input.login the only user who may log in, over an encrypted connection.
 */
export const startSmtp = async (
  input: { readonly login?: { readonly user: string; readonly password: string } } = {},
) => {
  const mails: ReceivedMail[] = []
  const refusals: Refusal[] = []
  const during: (() => Promise<void>)[] = []
  const refusalAt = (at: Refusal['at']): Error | null => {
    const index = refusals.findIndex((each) => each.at === at)
    const [refusal] = index < 0 ? [] : refusals.splice(index, 1)
    return refusal === undefined ? null : fail(refusal)
  }
  const { login } = input
  const server = new SMTPServer({
    secure: login !== undefined,
    authOptional: login === undefined,
    // Clients keep their connections.
    closeTimeout: 10,
    ...(login === undefined ? { disabledCommands: ['STARTTLS', 'AUTH'] } : {}),
    onAuth: (auth, _, done) =>
      auth.username === login?.user && auth.password === login?.password
        ? done(null, { user: auth.username })
        : done(new Error('Authentication credentials invalid')),
    onRcptTo: (_, __, done) => done(refusalAt('RCPT')),
    onData: (stream, session, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', async () => {
        await Promise.all(during.map((look) => look()))
        const refusal = refusalAt('DATA')
        const { mailFrom, rcptTo } = session.envelope
        const from = mailFrom === false ? '' : mailFrom.address
        if (refusal === null)
          mails.push({ from, to: rcptTo.map((to) => to.address), raw: Buffer.concat(chunks).toString() })
        done(refusal)
      })
    },
  })
  // A client that just disconnects is no error of this server.
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo

  return {
    port,
    url: `smtp://127.0.0.1:${port}`,
    mails,
    refuseNext: (refusal: Refusal) => void refusals.push(refusal),
    /** Runs while a mail is being received. */
    during: (look: () => Promise<void>) => void during.push(look),
    /** Waits for the nth mail to a recipient, counted from 1. */
    mailTo: async (recipient: string, nth = 1, timeoutMs = 15_000): Promise<ReceivedMail> => {
      const deadline = Date.now() + timeoutMs
      for (;;) {
        const mail = mails.filter(({ to }) => to.includes(recipient))[nth - 1]
        if (mail !== undefined) return mail
        if (Date.now() > deadline) throw new Error(`no mail ${nth} to ${recipient}`)
        await sleep(10)
      }
    },
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

/** A local port on which nothing listens. */
export const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer()
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
