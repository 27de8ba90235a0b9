// A new project: its project key, wrapped by the root key, and its developer key, sealed under the developer secret. On
// mainnet the secret comes later: until the project is activated it has no developer key, and can have no wallets.

import { randomBytes } from 'node:crypto'
import { writeFreezeList } from '../../../../db/queries/vault/lists.ts'
import { insertDeveloperKey, readDeveloperKey } from '../../../../db/queries/vault/locks.ts'
import { insertProjectKey, newestProjectKeyVersion } from '../../../../db/queries/vault/project-keys.ts'
import type { Environment } from '../../../../db/words.ts'
import { NotWritten } from '../../../../db/written.ts'
import { AppError, noSuchProject } from '../../../platform/errors.ts'
import { HeldKeys, type SecretText } from '../../../platform/sealing/bytes.ts'
import { seal } from '../../../platform/sealing/envelope.ts'
import { KEY_BYTES } from '../../../platform/sealing/kdf.ts'
import { TESTNET_DEVELOPER_SECRET } from '../../contract/contract.ts'
import { madeOtherwise, repeatable } from '../../contract/repeatable.ts'
import { changing } from '../changing.ts'
import type { RoomCtx } from '../ctx.ts'
import { identityOf, requireCanonicalIds, sealDeveloperKey } from '../sealing/hierarchy.ts'
import { firstFreezeList } from '../wallets/freezes.ts'
import { checkSecret, FIRST_VERSION } from './credential-keys.ts'
import { requireDeveloperSecret } from './new-secrets.ts'

type NewProjectInput = {
  readonly projectId: string
  /** null: the environment's published secret, or on mainnet none yet. */
  readonly developerSecret: SecretText | null
  readonly actor: string
  /** The caller's other values for the project's row. The journal keeps them. */
  readonly about?: string | undefined
}

type ActivationInput = NewProjectInput & { readonly developerSecret: SecretText }

const secretFor = (environment: Environment, given: SecretText | null): SecretText | null => {
  const secret = given ?? (environment === 'testnet' ? TESTNET_DEVELOPER_SECRET : null)
  if (secret !== null) requireDeveloperSecret(environment, secret)
  return secret
}

/** Whether the project's developer key opens with a secret; false if there is none. */
const isSecretOf = async (
  ctx: RoomCtx,
  { secret, ...scope }: { readonly projectId: string; readonly actor: string; readonly secret: SecretText },
): Promise<boolean> => {
  const row = await readDeveloperKey(ctx.db, scope.projectId)
  if (row === null) return false
  try {
    const developerKey = await checkSecret(ctx, { ...scope, row, secret })
    developerKey.fill(0)
    return true
  } catch (error) {
    if (error instanceof AppError && error.code === 'INVALID_SECRET') return false
    throw error
  }
}

const keepInJournal = (
  { journal, now }: RoomCtx,
  note: { readonly projectId: string; readonly about: string; readonly isActive: boolean },
): void => {
  const where = { project_id: note.projectId }
  // The project may be there already, as this call may be a repetition.
  const freezes = { table: 'freeze_lists', where: { id: note.projectId } } as const
  journal.addToRead({ table: 'project_keys', where }, { table: 'developer_keys', where }, freezes)
  journal.add({ notes: [{ kind: 'project', ...note, at: now().toISOString() }] })
}

const makeProject = async (
  ctx: RoomCtx,
  { projectId, actor, secret }: NewProjectInput & { readonly secret: SecretText | null },
): Promise<void> => {
  using keys = new HeldKeys()
  if ((await newestProjectKeyVersion(ctx.db, projectId)) !== null) {
    if (secret !== null && !(await isSecretOf(ctx, { projectId, actor, secret }))) throw madeOtherwise('project')
    return
  }
  const projectKey = keys.hold(randomBytes(KEY_BYTES))
  const scope = { projectId, version: FIRST_VERSION }
  const identity = identityOf.projectKey(scope)
  const { rootKeyId, wrapped } = await ctx.rootKeys.wrap({ key: projectKey, identity })
  const developerKey = keys.hold(randomBytes(KEY_BYTES))
  const sealed =
    secret === null
      ? null
      : seal({
          key: projectKey,
          keyId: FIRST_VERSION,
          identity: identityOf.developerKey(scope),
          plaintext: sealDeveloperKey({ ...scope, secret, developerKey }),
        })
  await changing(ctx, async (tx, wrote) => {
    await ctx.rootKeys.keepPresent(tx, rootKeyId)
    wrote(await insertProjectKey(tx, { ...scope, rootKeyId, wrapped }))
    const freezes = await writeFreezeList(tx, { ...firstFreezeList(ctx.deploymentKey, projectId), before: null })
    if (freezes === null) throw new NotWritten('freeze_lists')
    wrote(freezes)
    if (sealed !== null) wrote(await insertDeveloperKey(tx, { ...scope, sealed }))
    const details = { activated: sealed === null ? 'no' : 'yes' }
    await ctx.audit.record(tx, { projectId, actor, action: 'project_created', subject: projectId, details })
  })
}

export const newProject = async (ctx: RoomCtx, input: NewProjectInput): Promise<void> => {
  requireCanonicalIds([input.projectId])
  const secret = secretFor(ctx.environment, input.developerSecret)
  await repeatable(['project_keys_project_id_version_pk'], () => makeProject(ctx, { ...input, secret }))
  const { projectId, about = '' } = input
  keepInJournal(ctx, { projectId, about, isActive: secret !== null })
}

const makeDeveloperKey = async (ctx: RoomCtx, input: ActivationInput): Promise<void> => {
  using keys = new HeldKeys()
  const { db, projectKeys, audit } = ctx
  const { projectId, developerSecret: secret, actor } = input
  const version = await newestProjectKeyVersion(db, projectId)
  if (version === null) throw noSuchProject()
  if ((await readDeveloperKey(db, projectId)) !== null) {
    if (await isSecretOf(ctx, { projectId, actor, secret })) return
    const sentence = 'This project is activated already: change-developer-secret gives it another secret.'
    throw new AppError('invalid_input', sentence)
  }
  const scope = { projectId, version: FIRST_VERSION }
  const inner = sealDeveloperKey({ ...scope, secret, developerKey: keys.hold(randomBytes(KEY_BYTES)) })
  const sealed = await projectKeys.sealOuter({ version, identity: identityOf.developerKey(scope), inner })
  await changing(ctx, async (tx, wrote) => {
    await projectKeys.keepNewest(tx, { projectId, version })
    wrote(await insertDeveloperKey(tx, { ...scope, sealed }))
    await audit.record(tx, { projectId, actor, action: 'project_activated', subject: projectId, details: {} })
  })
}

export const activateProject = async (ctx: RoomCtx, input: ActivationInput): Promise<void> => {
  const { environment } = ctx
  requireCanonicalIds([input.projectId])
  if (environment === 'testnet') throw new AppError('invalid_input', 'On testnet every project is active at once.')
  requireDeveloperSecret(environment, input.developerSecret)
  await repeatable(['developer_keys_pkey'], () => makeDeveloperKey(ctx, input))
  keepInJournal(ctx, { projectId: input.projectId, about: '', isActive: true })
}
