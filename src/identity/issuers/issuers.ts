// The identity providers of projects. For operators.

import { randomUUID } from 'node:crypto'
import type { HasDb } from '../../../db/client.ts'
import {
  deleteIssuer,
  type IssuerFacts,
  type IssuerRow,
  insertIssuer,
  listIssuers as selectIssuers,
} from '../../../db/queries/issuers.ts'
import { findProject } from '../../../db/queries/projects.ts'
import { ISSUER_ALGORITHMS, type IssuerAlgorithm } from '../../../db/words.ts'
import type { HasAudit } from '../../platform/audit/audit.ts'
import type { Config, HasConfig } from '../../platform/config.ts'
import { AppError, invalidInput, noSuchProject } from '../../platform/errors.ts'
import { OutgoingError, refusalOfUrl } from '../../platform/process/outgoing.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import { issuerMac } from '../auth/row-macs.ts'
import { sealClientSecret } from './client-secret.ts'
import { readKeys } from './key-sets.ts'

/** The address to which an issuer sends people back. The developer registers it there, so it never changes. */
export const callbackOf = (
  { publicBaseUrl }: Pick<Config, 'publicBaseUrl'>,
  { projectId, name }: Pick<IssuerRow, 'projectId' | 'name'>,
): string => `${publicBaseUrl.replace(/\/$/, '')}/login/oidc/callback/${projectId}/${name}`

/** Our own tokens have this source. */
const OWN_SOURCE = 'walletkit'
const NAME = /^[a-z0-9][a-z0-9_-]{0,31}$/
const TEXT = /^[\x21-\x7e]{1,512}$/
const CLAIM = /^[A-Za-z0-9_]{1,64}$/
const OF_A_PROJECT_MAX = 20

/** What an issuer signs with, if the operator does not say it. */
export const USUAL_ALGORITHMS: readonly IssuerAlgorithm[] = ['RS256', 'ES256']

const isSourceName = (text: string): boolean => NAME.test(text) && text !== OWN_SOURCE

type ChangeCtx = HasDb & HasAudit & HasIdentity & HasConfig

type Given = 'projectId' | 'name' | 'issuer' | 'audience' | 'audienceClaim' | 'userClaim' | 'clientId'

type NewIssuer = Pick<IssuerFacts, Given> & {
  readonly clientSecret: string | null
  readonly algorithms: readonly IssuerAlgorithm[]
  readonly actor: string
}

const refuse = (sentence: string): never => {
  throw invalidInput(sentence)
}

const requireRight = ({ config }: HasConfig, input: NewIssuer): void => {
  if (!isSourceName(input.name)) {
    refuse('The name must be 1 to 32 of a-z, 0-9, - and _, and not "walletkit": callers send it as a header.')
  }
  const refusal = TEXT.test(input.issuer) ? refusalOfUrl(config, input.issuer) : 'an absolute URL'
  if (refusal !== null) refuse(`The issuer must be as in the claim "iss", and ${refusal}.`)
  if (new URL(input.issuer).search !== '') refuse('The issuer must be a URL without "?".')
  if (!TEXT.test(input.audience)) refuse('The audience must be 1 to 512 ASCII characters without spaces.')
  if (!CLAIM.test(input.audienceClaim))
    refuse('The audience claim must be the name of a claim, such as "aud" or "azp".')
  if (!CLAIM.test(input.userClaim)) refuse('The claim must be the name of a claim, such as "sub".')
  if (input.clientId !== null && !TEXT.test(input.clientId)) refuse('The client id must be 1 to 512 ASCII characters.')
  if (input.clientSecret !== null && input.clientId === null) refuse('A client secret needs a client id.')
  if (input.clientSecret !== null && !TEXT.test(input.clientSecret)) {
    refuse('The client secret must be 1 to 512 ASCII characters without spaces.')
  }
  const isKnown = input.algorithms.every((each) => ISSUER_ALGORITHMS.includes(each))
  if (input.algorithms.length === 0 || !isKnown) refuse(`Algorithms must be of ${ISSUER_ALGORITHMS.join(', ')}.`)
}

/** So that a wrong URL is found now, and not by users. */
const requireReachable = async (ctx: HasConfig, issuer: string): Promise<void> => {
  try {
    await readKeys(ctx, issuer)
  } catch (error) {
    if (!(error instanceof OutgoingError)) throw error
    refuse(`The keys of the issuer could not be read. ${error.message}`)
  }
}

const factsForAudit = ({ name, issuer, audience, audienceClaim, userClaim, algorithms, clientId }: IssuerFacts) => ({
  name,
  issuer,
  audience,
  audience_claim: audienceClaim,
  user_claim: userClaim,
  algorithms: algorithms.join(' '),
  ...(clientId !== null && { client_id: clientId }),
})

/** Takes the tokens of an identity provider for a project, after its keys were read once. */
export const addIssuer = async (ctx: ChangeCtx, input: NewIssuer): Promise<void> => {
  requireRight(ctx, input)
  if ((await findProject(ctx.db, input.projectId)) === null) throw noSuchProject()
  await requireReachable(ctx, input.issuer)
  const { actor, clientSecret, ...given } = input
  const facts = { ...given, id: randomUUID(), algorithms: [...new Set(given.algorithms)] }
  const { projectId, id } = facts
  const sealedSecret = clientSecret === null ? null : sealClientSecret(ctx.identity, { ...facts, secret: clientSecret })
  await ctx.db.transaction(async (tx) => {
    const isNew = await insertIssuer(tx, { ...facts, sealedSecret, mac: issuerMac(ctx.identity).of(facts) })
    if (!isNew) refuse('The project has an issuer of this name: remove it first.')
    if ((await selectIssuers(tx, { projectId, limit: OF_A_PROJECT_MAX + 1 })).length > OF_A_PROJECT_MAX) {
      refuse(`A project has at most ${OF_A_PROJECT_MAX} issuers.`)
    }
    await ctx.audit.record(tx, { projectId, actor, action: 'issuer_added', subject: id, details: factsForAudit(facts) })
  })
}

/** Takes its tokens no more, from the next request on. Its users stay, and so do sessions that they began here. */
export const removeIssuer = (
  ctx: Pick<ChangeCtx, 'db' | 'audit'>,
  { projectId, name, actor }: Pick<NewIssuer, 'projectId' | 'name' | 'actor'>,
): Promise<void> =>
  ctx.db.transaction(async (tx) => {
    const row = await deleteIssuer(tx, { projectId, name })
    if (row === null) throw new AppError('not_found', 'The project has no issuer of this name.')
    const details = factsForAudit(row)
    await ctx.audit.record(tx, { projectId, actor, action: 'issuer_removed', subject: row.id, details })
  })

const shownTo = (config: Config) => (row: IssuerRow) => ({
  ...factsForAudit(row),
  algorithms: row.algorithms,
  /** null: the login page does not offer it. */
  client_id: row.clientId,
  /** What must be registered at the issuer. */
  callback: row.clientId === null ? null : callbackOf(config, row),
  created_at: row.createdAt.toISOString(),
})

export const listIssuers = async (
  { db, config }: HasDb & HasConfig,
  { projectId }: { readonly projectId: string },
): Promise<ReturnType<ReturnType<typeof shownTo>>[]> => {
  if ((await findProject(db, projectId)) === null) throw noSuchProject()
  return (await selectIssuers(db, { projectId, limit: OF_A_PROJECT_MAX })).map(shownTo(config))
}
