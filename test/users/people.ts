// Users over HTTP: they log in and use their sessions. Their mails are in the devnet's mailbox.

import { requireProjectOfRow } from '../../db/queries/projects.ts'
import type { Visitor } from '../../src/identity/auth/plugin.ts'
import type { Answer, Service } from '../support/service.ts'
import { createAuthenticator } from './authenticator.ts'

const PAGE = 'http://localhost:5173'
const NOBODY = { authorization: undefined }

export type Session = {
  readonly id: string
  readonly user_id: string
  readonly access_token: string
  readonly refresh_token: string
}

type Token = Pick<Session, 'access_token'>
type Mail = { readonly recipient: string; readonly subject: string; readonly text: string }

/** Status and code of an answer. */
export const statusAndCode = ({ status, json }: Answer): [number, string] => [status, json.code ?? 'done']
export const DONE: [number, string] = [200, 'done']

/** A visitor of the test's project. */
export const visitorOf = async (
  { ctx, project }: Service,
  { address = '', origin = null }: { readonly address?: string; readonly origin?: string | null } = {},
): Promise<Visitor> => ({
  projectId: project.projectId,
  project: await requireProjectOfRow(ctx.db, project),
  client: { address, device: '' },
  origin,
})

export const peopleOf = (service: Service) => {
  /** The mails to an address, newest first. */
  const mailsTo = async (email: string): Promise<readonly Mail[]> =>
    ((await service.call('/dev/mailbox.json')).json as Mail[]).filter(({ recipient }) => recipient === email)

  /** The code in the newest mail to an address. */
  const codeTo = async (email: string): Promise<string> => {
    const code = /^ {4}([0-9]{6})$/m
    const mail = (await mailsTo(email)).find(({ text }) => code.test(text))
    return code.exec(mail?.text ?? '')?.[1] ?? ''
  }

  const logIn = async (email: string): Promise<Session> => {
    const { user_id } = (await service.post('/users/login-with-email', { email }, NOBODY)).json
    const proof = { user_id, verification_code: await codeTo(email) }
    return (await service.post('/users/verify-login', proof, NOBODY)).json
  }

  const as = ({ access_token }: Token) => {
    const headers = { authorization: `Bearer ${access_token}`, origin: PAGE }
    return (path: string, body: unknown = {}): Promise<Answer> => service.post(path, body, headers)
  }

  const newCredential = async (session: Token): Promise<unknown> =>
    createAuthenticator({ origin: PAGE }).create(
      (await as(session)('/users/passkey/begin-registration')).json.publicKey,
    )

  return {
    mailsTo,
    codeTo,
    logIn,
    as,
    newCredential,
    addPasskey: async (session: Token): Promise<Answer> =>
      as(session)('/users/passkey/finish-registration', await newCredential(session)),
    anonymous: async (): Promise<Session> => (await service.post('/users/login-anonymously', {}, NOBODY)).json,
    refresh: ({ id, refresh_token }: Session): Promise<Answer> =>
      service.post('/users/refresh-token', { session_id: id, refresh_token }, NOBODY),
    newChallenge: async (): Promise<string> =>
      (await service.post('/users/create-session-challenge', {}, NOBODY)).json.code,
    verifyChallenge: (code: string): Promise<Answer> =>
      service.post('/users/verify-login', { session_challenge_code: code }, NOBODY),
    /** Calls with an access token. @returns the status: 200 or 401. */
    reach: async ({ access_token }: Token): Promise<number> =>
      (await service.call('/users/passkeys', { headers: { authorization: `Bearer ${access_token}` } })).status,
    get: (path: string, { access_token }: Token): Promise<Answer> =>
      service.call(path, { headers: { authorization: `Bearer ${access_token}` } }),
  }
}

export type People = ReturnType<typeof peopleOf>
