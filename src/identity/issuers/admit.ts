// Callers with a token of their project's own identity provider. Their user is made when they are first seen: its id is
// derived from project, issuer and subject.

import type { HasDb } from '../../../db/client.ts'
import {
  findIssuers,
  findUsersBySubject,
  type IssuerKey,
  type IssuerRow,
  insertSubject,
  type SubjectKey,
} from '../../../db/queries/issuers.ts'
import type { UserRow } from '../../../db/queries/users.ts'
import type { HasAudit } from '../../platform/audit/audit.ts'
import type { HasClock } from '../../platform/clock.ts'
import type { HasConfig } from '../../platform/config.ts'
import type { HasLog } from '../../platform/process/log.ts'
import { createBatcher } from '../../platform/queue.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import { isOurs, issuerMac, userMac } from '../auth/row-macs.ts'
import type { HasSecurityEvents } from '../security-events.ts'
import { derivedUserId, NO_PROOF } from '../users/user.ts'
import { createKeySets } from './key-sets.ts'
import { createProvider, type LoginIssuer } from './provider.ts'
import { type IssuerToken, isEndedToken, type TokenCheck, tokenHashOf, verifyIssuerToken } from './verify-token.ts'

const KEYS_A_QUERY = 200

type AdmitCtx = HasDb & HasClock & HasLog & HasConfig & HasIdentity & HasAudit & HasSecurityEvents

/** Looks up what is asked for at the same time in one query. */
const batched = <Key, Row extends Key>(input: {
  readonly find: (keys: readonly Key[]) => Promise<readonly Row[]>
  readonly nameOf: (key: Key) => string
}) => {
  const run = async (keys: readonly Key[]) => {
    const wanted = new Map(keys.map((key) => [input.nameOf(key), key]))
    const rows = new Map((await input.find([...wanted.values()])).map((row) => [input.nameOf(row), row]))
    return new Map(keys.map((key) => [key, rows.get(input.nameOf(key)) ?? null]))
  }
  const ask = createBatcher({ sizeMax: KEYS_A_QUERY, run })
  return async (key: Key): Promise<Row | null> => (await ask(key)).get(key) ?? null
}

/** A user, when they last logged in at the issuer, if the token says it, and the token. */
type Known = { readonly userId: string; readonly authenticatedAt: Date | null; readonly issuerToken: IssuerToken }

type Refused = { readonly kind: 'refused'; readonly check: TokenCheck }
type Identified = ({ readonly kind: 'user' } & Known) | Refused
type Admitted = Identified | { readonly kind: 'no_issuer' }

/** Makes the user, unless another request does at the same time. */
const makeUser = async (
  ctx: AdmitCtx,
  { issuer, subject }: { readonly issuer: IssuerRow; readonly subject: string },
): Promise<UserRow | null> => {
  const { projectId } = issuer
  const by = { issuer: issuer.issuer, subject }
  const user = { ...NO_PROOF, id: derivedUserId(ctx, { projectId, by }), projectId, ...by }
  return ctx.db.transaction(async (tx) => {
    const made = await insertSubject(tx, { ...user, mac: userMac(ctx.identity).of(user) })
    if (made === null) return null
    const details = { issuer: issuer.name }
    const actor = `user:${user.id}`
    await ctx.audit.record(tx, { projectId, actor, action: 'user_created', subject: user.id, details })
    return made
  })
}

type Issuers = ReturnType<typeof createIssuers>

export type HasIssuers = { readonly issuers: Issuers }

export const createIssuers = (ctx: AdmitCtx) => {
  const keySets = createKeySets(ctx)
  const macs = { ofIssuers: issuerMac(ctx.identity), ofUsers: userMac(ctx.identity) }
  const findIssuer = batched<IssuerKey, IssuerRow>({
    find: async (keys) => (await findIssuers(ctx.db, keys)).filter((row) => isOurs(ctx, macs.ofIssuers, row)),
    nameOf: ({ projectId, name }) => JSON.stringify([projectId, name]),
  })
  const findSubject = batched<SubjectKey, SubjectKey & UserRow>({
    find: (keys) => findUsersBySubject(ctx.db, keys),
    nameOf: ({ projectId, issuer, subject }) => JSON.stringify([projectId, issuer, subject]),
  })

  const userOf = async (input: {
    readonly issuer: IssuerRow
    readonly token: string
    /** The browser has just brought it from the issuer, for a login that began here. */
    readonly isNew: boolean
  }): Promise<Identified> => {
    const { issuer, token, isNew } = input
    const { projectId } = issuer
    const checked = await verifyIssuerToken({ keySets, now: ctx.now() }, { issuer, token })
    if ('refused' in checked) return { kind: 'refused', check: checked.refused }
    const { subject, authenticatedAt, issuedAt } = checked.verified
    const issuerToken = { issuedAt, hash: tokenHashOf(token) }
    const key = { projectId, issuer: issuer.issuer, subject }
    const user = (await findSubject(key)) ?? (await makeUser(ctx, { issuer, subject })) ?? (await findSubject(key))
    // The row of a user that another program wrote is reported, and admits no caller.
    if (user === null || !isOurs(ctx, macs.ofUsers, user)) return { kind: 'refused', check: 'user' }
    if (!isNew && isEndedToken(user, issuerToken)) return { kind: 'refused', check: 'ended' }
    return { kind: 'user', userId: user.id, authenticatedAt, issuerToken }
  }

  return {
    provider: createProvider(ctx),
    /** The user whom an ID token for our login page names. */
    identify: ({ issuer, token }: { readonly issuer: LoginIssuer; readonly token: string }): Promise<Identified> =>
      userOf({ issuer: { ...issuer, audience: issuer.clientId, audienceClaim: 'aud' }, token, isNew: true }),
    /** @throws unavailable if the issuer's keys cannot be read. */
    admit: async (input: IssuerKey & { readonly token: string }): Promise<Admitted> => {
      const { projectId, name, token } = input
      const issuer = await findIssuer({ projectId, name })
      if (issuer === null) return { kind: 'no_issuer' }
      return userOf({ issuer, token, isNew: false })
    },
  }
}
