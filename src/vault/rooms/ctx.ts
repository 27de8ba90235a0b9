// The first argument of the functions of the rooms. Each vault process builds one.

import type { Db } from '../../../db/client.ts'
import { type AuditRow, auditJson } from '../../../db/queries/vault/audit.ts'
import { readWalletKeys, type WalletKeyRow } from '../../../db/queries/vault/keyrings.ts'
import type { Environment, Network } from '../../../db/words.ts'
import { type Audit, createVaultAudit } from '../../platform/audit/audit.ts'
import { createBoundedMap } from '../../platform/bounded-map.ts'
import { createBatcher, createQueue, type Queue } from '../../platform/queue.ts'
import { type Catalogue, createCatalogue } from './catalogue.ts'
import {
  createGuard,
  createPinLimits,
  createSecretLimit,
  type Guard,
  type SecretLimit,
  TURN_WAIT_MS,
  TURN_WAITING_MAX,
} from './credentials/guard.ts'
import { createGuesses, type Guesses } from './credentials/guesses.ts'
import { type Journal, withoutJournal } from './journal/journal.ts'
import { createKeptAudit, type KeptAudit } from './kept-audit.ts'
import type { WalletChain } from './keys/worst-cost.ts'
import { createRefusals, type Refusals, type RefusalsLog } from './refusals.ts'
import { createProjectKeys, type ProjectKeys } from './root/project-keys.ts'
import { createRootKeys, type DeploymentKey, type RootKey, type RootKeys } from './root/root-key.ts'
import { ARGON2_CONCURRENCY_MAX, PIN_TURNS_MAX } from './sealing/stretch.ts'
import { createFreezes, type Freezes } from './wallets/freezes.ts'

const READ_TOGETHER_MAX = 500
/** So many uses at least must be charged between a state of a policy and a use that follows on it again. */
const CONSUMED_MAX = 100_000
/** The longest request: its node may keep it waiting between opening and signing. */
const KEY_LIFETIME_MS = 60_000

/** A network as configured in this process. */
type ChainOf = (network: Network) => WalletChain

export type RoomCtx = {
  readonly db: Db
  readonly environment: Environment
  readonly chainOf: ChainOf
  /** How long an opened key may be used. */
  readonly keyLifetimeMs: number
  readonly rootKeys: RootKeys
  /** Keys for what belongs to no project are derived from it. */
  readonly deploymentKey: DeploymentKey
  readonly projectKeys: ProjectKeys
  readonly audit: Audit
  /** Notices that audit rows of this vault are gone. */
  readonly keptAudit: KeptAudit
  /** Records refusals in the audit. */
  readonly refusals: Refusals
  readonly now: () => Date
  /** Whether the database means what its migrations say. */
  readonly catalogue: Catalogue
  /** What must survive the loss of the database. */
  readonly journal: Journal
  /** The states of policies from which a use was charged. */
  readonly consumed: ReturnType<typeof createBoundedMap<true>>
  /** What operators have frozen. */
  readonly freezes: Freezes
  /** Counts the wrong PINs of each owner. */
  readonly guesses: Guesses
  /** Limits the guesses at PINs. */
  readonly guard: Guard
  /** Limits the guesses at developer secrets. */
  readonly secretLimit: SecretLimit
  /** All uses of argon2 wait here, and phrases that are stretched (keys/derive.ts). */
  readonly argon2: Queue
  /** For those with a turn: one for each core. It refuses none, as their guess is charged. */
  readonly stretching: Queue
  /** The rows that open a wallet's key. Requests of the same moment share one query. */
  readonly readWalletKey: (walletId: string) => Promise<WalletKeyRow | null>
}

export type VaultSettings = {
  readonly db: Db
  readonly rootKey: RootKey
  /** The key after it, in a process that keeps running during the change. */
  readonly nextRootKey?: RootKey | null | undefined
  readonly deploymentKey: DeploymentKey
  readonly journal?: Journal
  readonly environment: Environment
  readonly chainOf: ChainOf
  /** How many wrong credentials an API key or user may send: PINs over all processes, secrets in each. */
  readonly limits: { readonly wrongPinsPerHour: number; readonly wrongSecretsPerMinute: number }
  /** How long an opened key may be used: by default as long as the longest request takes. */
  readonly keyLifetimeMs?: number
  readonly log: RefusalsLog
  readonly now: () => Date
}

export const createRoomCtx = (settings: VaultSettings): RoomCtx => {
  const { db, environment, chainOf, limits, deploymentKey, journal = withoutJournal() } = settings
  const rootKeys = createRootKeys(settings)
  const argon2 = createQueue({ atOnce: PIN_TURNS_MAX, waitingMax: TURN_WAITING_MAX, waitMaxMs: TURN_WAIT_MS })
  const readTogether = createBatcher({
    sizeMax: READ_TOGETHER_MAX,
    run: (ids: readonly string[]) => readWalletKeys(db, ids),
  })
  const projectKeys = createProjectKeys({ db, rootKeys })
  const guesses = createGuesses({ db, projectKeys, journal, now: settings.now })
  const keptAudit = createKeptAudit(settings)
  const onCommitted = (rows: readonly AuditRow[]) => {
    keptAudit.add(rows)
    journal.add({ audit: rows.map(auditJson) })
  }
  const audit = createVaultAudit({ ...settings, onCommitted })
  const refusals = createRefusals({ ...settings, audit })
  return {
    db,
    environment,
    chainOf,
    keyLifetimeMs: settings.keyLifetimeMs ?? KEY_LIFETIME_MS,
    rootKeys,
    deploymentKey,
    projectKeys,
    audit,
    keptAudit,
    refusals,
    catalogue: createCatalogue({ ...settings, refusals }),
    journal,
    consumed: createBoundedMap<true>({ max: CONSUMED_MAX }),
    now: settings.now,
    freezes: createFreezes({ db, deploymentKey, journal }),
    guesses,
    guard: createGuard({ guesses, argon2, pinLimits: createPinLimits({ ...settings, ...limits }) }),
    secretLimit: createSecretLimit({ wrongMax: limits.wrongSecretsPerMinute }),
    argon2,
    stretching: createQueue({ atOnce: ARGON2_CONCURRENCY_MAX, waitMaxMs: Number.POSITIVE_INFINITY }),
    readWalletKey: async (walletId) => (await readTogether(walletId)).get(walletId) ?? null,
  }
}
