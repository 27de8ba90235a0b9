// Codes by e-mail: 6 digits, 10 minutes, 5 tries, one live code a user and purpose. Of a code only a MAC is kept, over whom
// and what it is for, so that it proves nothing else.

import { randomInt, timingSafeEqual } from 'node:crypto'
import type { Tx } from '../../db/client.ts'
import { type CodeKey, putEmailCode, takeCodeTry, useEmailCode } from '../../db/queries/email-codes.ts'
import { findProject } from '../../db/queries/projects.ts'
import type { Ctx } from '../context.ts'
import type { Sealer } from '../custody/sealer.ts'
import { queueMail } from '../mail/queue.ts'

const DIGITS = 6
export const CODE_SECONDS = 600
const TRIES_MAX = 5
const NO_MAC = Buffer.alloc(32)

const macOf = (identity: Sealer, key: CodeKey, said: { readonly email: string; readonly code: string }): Uint8Array =>
  identity.authenticator('email code')([key.projectId, key.purpose, key.userId, said.email, said.code])

const newCode = (): string => String(randomInt(10 ** DIGITS)).padStart(DIGITS, '0')

/** A name as one line of a mail. */
export const lineOf = (name: string): string => name.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ').trim()

/** The subject does not hold the code: locked screens show subjects. */
const WORDS = {
  login: {
    subject: (project: string) => `Log in to ${project}`,
    asked: (project: string) => `Somebody asks to log in to ${project} with this e-mail address.`,
    otherwise: 'If it was not you, do nothing: without the code nobody gets in. Do not give it to anybody.',
  },
  add_email: {
    subject: (project: string) => `Confirm your e-mail address for ${project}`,
    asked: (project: string) => `A user of ${project} asks to log in with this e-mail address from now on.`,
    otherwise: 'If it was not you, do nothing: without the code nothing is changed. Do not give it to anybody.',
  },
} as const

/** Makes a code and mails it; both or neither, with the caller's transaction. */
export const mailCode = async (
  ctx: Pick<Ctx, 'sealer' | 'identity'>,
  tx: Tx,
  input: CodeKey & { readonly email: string },
): Promise<void> => {
  const { projectId, email, purpose } = input
  const project = await findProject(tx, projectId)
  if (project === null) throw new Error('a code is for a project')
  const code = newCode()
  const codeMac = macOf(ctx.identity, input, { email, code })
  await putEmailCode(tx, { ...input, codeMac, lifetimeSeconds: CODE_SECONDS })
  const name = lineOf(project.name)
  const { subject, asked, otherwise } = WORDS[purpose]
  const use = `Your code, good for ${CODE_SECONDS / 60} minutes and for one use:`
  const text = [asked(name), use, `    ${code}`, otherwise].map((paragraph) => `${paragraph}\n`).join('\n')
  await queueMail(ctx, tx, {
    projectId,
    recipient: email,
    subject: subject(name),
    text,
    lifetimeSeconds: CODE_SECONDS,
  })
}

export type ProvenCode = {
  readonly email: string
  /** @returns false where the code was used, replaced or outdated meanwhile: of two that prove it at once, one does. */
  readonly use: (tx: Tx) => Promise<boolean>
}

/** Takes a try and checks a code. null: it is wrong, used, over, of somebody else, or was tried too often. */
export const proveCode = async (
  ctx: Pick<Ctx, 'db' | 'identity'>,
  key: CodeKey,
  code: string,
): Promise<ProvenCode | null> => {
  const live = await takeCodeTry(ctx.db, { ...key, triesMax: TRIES_MAX })
  const email = live?.email ?? ''
  const codeMac = macOf(ctx.identity, key, { email, code })
  const isRight = timingSafeEqual(codeMac, live?.codeMac ?? NO_MAC)
  if (live === null || !isRight) return null
  return { email, use: (tx) => useEmailCode(tx, { ...key, codeMac }) }
}
