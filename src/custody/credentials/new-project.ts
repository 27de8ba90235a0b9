// A new project: its project key, wrapped by the root key, and its developer key, sealed under the developer secret. On
// mainnet the secret comes later: until the project is activated it has no developer key, and can have no wallets.

import { randomBytes } from 'node:crypto'
import type { Tx } from '../../../db/client.ts'
import { insertDeveloperKey, readDeveloperKey } from '../../../db/queries/custody/locks.ts'
import { insertProjectKey, newestProjectKeyVersion } from '../../../db/queries/custody/project-keys.ts'
import type { Environment } from '../../../db/words.ts'
import { AppError, noSuchProject } from '../../errors.ts'
import type { CustodyCtx } from '../ctx.ts'
import { HeldKeys } from '../sealing/bytes.ts'
import { seal } from '../sealing/envelope.ts'
import { identityOf, requireCanonicalIds, sealDeveloperKey } from '../sealing/hierarchy.ts'
import { KEY_BYTES } from '../sealing/kdf.ts'
import { requireDeveloperSecret, TESTNET_DEVELOPER_SECRET } from './developer-secret.ts'

const FIRST_VERSION = 1

type NewProjectInput = {
  readonly projectId: string
  /** null: the environment's published secret, or on mainnet none yet. */
  readonly developerSecret: string | null
  readonly actor: string
}

type ActivationInput = NewProjectInput & { readonly developerSecret: string }

export type NewProject = {
  /** Writes the project key, the developer key if there is one, and the audit row. Write the project's row first. */
  write(tx: Tx): Promise<void>
}

const secretFor = (environment: Environment, given: string | null): string | null => {
  const secret = given ?? (environment === 'testnet' ? TESTNET_DEVELOPER_SECRET : null)
  if (secret !== null) requireDeveloperSecret(environment, secret)
  return secret
}

const alreadyActivated = (): AppError =>
  new AppError('invalid_input', 'This project is activated already: change-developer-secret gives it another secret.')

/** Makes a project's keys, as `Vault.newProject` says. */
export const newProject = async (ctx: CustodyCtx, input: NewProjectInput): Promise<NewProject> => {
  using keys = new HeldKeys()
  const { projectId, actor } = input
  requireCanonicalIds([projectId])
  const secret = secretFor(ctx.environment, input.developerSecret)
  const projectKey = keys.hold(randomBytes(KEY_BYTES))
  const identity = identityOf.projectKey({ projectId, version: FIRST_VERSION })
  const { rootKeyId, wrapped } = await ctx.rootKeys.wrap({ key: projectKey, identity })
  const developerKey = keys.hold(randomBytes(KEY_BYTES))
  const sealed =
    secret === null
      ? null
      : seal({
          key: projectKey,
          keyId: FIRST_VERSION,
          identity: identityOf.developerKey({ projectId }),
          plaintext: sealDeveloperKey({ projectId, secret, developerKey }),
        })
  return {
    write: async (tx) => {
      await ctx.rootKeys.keepPresent(tx, rootKeyId)
      await insertProjectKey(tx, { projectId, version: FIRST_VERSION, rootKeyId, wrapped })
      if (sealed !== null) await insertDeveloperKey(tx, { projectId, sealed })
      await ctx.audit.record(tx, { projectId, actor, action: 'project_created', subject: projectId, details: {} })
    },
  }
}

/** Makes the developer key of a mainnet project, as `Vault.activateProject` says. */
export const activateProject = async (ctx: CustodyCtx, input: ActivationInput): Promise<NewProject> => {
  using keys = new HeldKeys()
  const { db, environment, projectKeys, audit } = ctx
  const { projectId, developerSecret: secret, actor } = input
  requireCanonicalIds([projectId])
  if (environment === 'testnet') throw new AppError('invalid_input', 'On testnet every project is active at once.')
  requireDeveloperSecret(environment, secret)
  const version = await newestProjectKeyVersion(db, projectId)
  if (version === null) throw noSuchProject()
  if ((await readDeveloperKey(db, projectId)) !== null) throw alreadyActivated()
  const inner = sealDeveloperKey({ projectId, secret, developerKey: keys.hold(randomBytes(KEY_BYTES)) })
  const sealed = await projectKeys.sealOuter({ version, identity: identityOf.developerKey({ projectId }), inner })
  return {
    write: async (tx) => {
      await projectKeys.keepNewest(tx, { projectId, version })
      if (!(await insertDeveloperKey(tx, { projectId, sealed }))) throw alreadyActivated()
      await audit.record(tx, { projectId, actor, action: 'project_activated', subject: projectId, details: {} })
    },
  }
}
