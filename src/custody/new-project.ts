// A new project: its key, wrapped by the root key, and its developer key under the developer's secret.
//
// On testnet the secret is a published constant, so that anyone can try the service. On mainnet it is the developer's
// own: a project without it has no developer key, and nothing of it opens before it is activated.

import { randomBytes } from 'node:crypto'
import type { Tx } from '../../db/client.ts'
import { insertDeveloperKey } from '../../db/queries/locks.ts'
import { insertProjectKey } from '../../db/queries/project-keys.ts'
import type { Environment } from '../../db/words.ts'
import { AppError, unreachable } from '../errors.ts'
import type { Audit } from './audit.ts'
import { seal } from './envelope.ts'
import { HeldKeys } from './held-keys.ts'
import { identityOf, requireCanonicalIds, sealDeveloperKey } from './hierarchy.ts'
import { KEY_BYTES } from './kdf.ts'
import type { RootKey } from './root-key.ts'

export const TESTNET_DEVELOPER_SECRET = 'testnet-secret'
const MAINNET_SECRET_CHARACTERS_MIN = 16
const FIRST_VERSION = 1

export type NewProject = {
  /** Writes the project's key, its developer key where it has one, and the audit row; the project's row is there. */
  write(tx: Tx): Promise<void>
}

const secretFor = (environment: Environment, given: string | null): string | null => {
  switch (environment) {
    case 'testnet':
      if (given === null || given === TESTNET_DEVELOPER_SECRET) return TESTNET_DEVELOPER_SECRET
      throw new AppError('invalid_input', `On testnet the developer secret is "${TESTNET_DEVELOPER_SECRET}".`)
    case 'mainnet':
      if (given === null || given.length >= MAINNET_SECRET_CHARACTERS_MIN) return given
      throw new AppError(
        'invalid_input',
        `On mainnet the developer secret must have at least ${MAINNET_SECRET_CHARACTERS_MIN} characters.`,
      )
    default:
      return unreachable(environment)
  }
}

/** Makes a project's keys; nothing is written before `write`, and the root key is asked outside its transaction. */
export const newProject = async (
  parts: { readonly rootKey: RootKey; readonly environment: Environment; readonly audit: Audit },
  input: { readonly projectId: string; readonly developerSecret: string | null; readonly actor: string },
): Promise<NewProject> => {
  using keys = new HeldKeys()
  const { projectId, actor } = input
  requireCanonicalIds([projectId])
  const secret = secretFor(parts.environment, input.developerSecret)
  const projectKey = keys.hold(randomBytes(KEY_BYTES))
  const identity = identityOf.projectKey({ projectId, version: FIRST_VERSION })
  const wrapped = await parts.rootKey.wrap({ key: projectKey, identity })
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
      await insertProjectKey(tx, { projectId, version: FIRST_VERSION, rootKeyId: parts.rootKey.id, wrapped })
      if (sealed !== null) await insertDeveloperKey(tx, { projectId, sealed })
      await parts.audit.record(tx, { projectId, actor, action: 'project_created', subject: projectId, details: {} })
    },
  }
}
