import { randomUUID } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mnemonicToEntropy } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'
import { sql } from 'drizzle-orm'
import type { Sql } from 'postgres'
import { type Db, openDb } from '../../db/client.ts'
import { insertProject } from '../../db/queries/projects.ts'
import { readGuesses } from '../../db/queries/vault/guesses.ts'
import type { WalletRow } from '../../db/queries/vault/keyrings.ts'
import type { PolicyTerms } from '../../db/queries/vault/policies.ts'
import { insertProjectKey } from '../../db/queries/vault/project-keys.ts'
import { insertWallet } from '../../db/queries/wallets.ts'
import type { ChainFamily, ControlMode, Environment, Network, WalletType } from '../../db/words.ts'
import { AppError } from '../../src/platform/errors.ts'
import { createQueue } from '../../src/platform/queue.ts'
import { derivedFrom, openSealer } from '../../src/platform/sealing/sealer.ts'
import { onlySignature } from '../../src/vault/contract/contract.ts'
import type { Credentials } from '../../src/vault/contract/required-credentials.ts'
import type { ImportedText, OpenKey, OpenPolicyKey, OperatorVault } from '../../src/vault/contract/vault.ts'
import type { Payload } from '../../src/vault/language/payload.ts'
import { boundGuesses, createGuesses, forgedGuesses } from '../../src/vault/rooms/credentials/guesses.ts'
import { type Journal, withoutJournal } from '../../src/vault/rooms/journal/journal.ts'
import { deriveKeyPair } from '../../src/vault/rooms/keys/derive.ts'
import { bytesToSign } from '../../src/vault/rooms/keys/payloads.ts'
import type { WalletChain } from '../../src/vault/rooms/keys/worst-cost.ts'
import { bindDeployment } from '../../src/vault/rooms/root/bind-deployment.ts'
import { createProjectKeys } from '../../src/vault/rooms/root/project-keys.ts'
import { createRootKeys, openRootKey, type RootKey } from '../../src/vault/rooms/root/root-key.ts'
import { identityOf } from '../../src/vault/rooms/sealing/hierarchy.ts'
import { createVault } from '../../src/vault/rooms/vault.ts'
import type { ExportedKeyring } from '../../src/vault/rooms/wallets/keyring.ts'
import { untilWaiting } from '../support/locks.ts'
import { createDatabase } from '../support/postgres.ts'

export const ACTOR = 'api_key:00000000-0000-4000-8000-000000000000'
export const NOW = new Date('2025-01-02T03:04:05.678Z')
export const SECRET = 'testnet-secret'

const MESSAGE = new Uint8Array(32).fill(7)
/** What a key of either family signs for a chain, and what its algorithm takes for it. */
export const EVM_PAYLOAD: Payload = {
  kind: 'evm_transaction',
  unsigned: new Uint8Array(Buffer.from(`02e083aa36a78080808094${'ab'.repeat(20)}8080c0`, 'hex')),
}
/** What the audit tells of it. */
export const EVM_FACTS = {
  network: 'Ethereum',
  chain_id: '11155111',
  nonce: '0',
  to: `0x${'ab'.repeat(20)}`,
  value: '0',
}
export const EVM_DIGEST = bytesToSign('evm', EVM_PAYLOAD)
export const SUBSTRATE_PAYLOAD: Payload = {
  ...{ kind: 'extrinsic', call: MESSAGE, extra: Uint8Array.of(1), implicit: Uint8Array.of(2) },
  ...{ addressPrefix: Uint8Array.of(0), signaturePrefix: Uint8Array.of(1) },
}
export const SUBSTRATE_BYTES = bytesToSign('substrate', SUBSTRATE_PAYLOAD)

/** A message, for a key that was opened for one. */
export const EVM_MESSAGE: Payload = { kind: 'evm_message', message: MESSAGE }
export const SUBSTRATE_MESSAGE: Payload = { kind: 'substrate_message', message: MESSAGE }

/** What a wallet's key signs for its chain. */
export const payloadFor = ({ publicKey }: Pick<WalletRow, 'publicKey'>): Payload =>
  publicKey.length === 32 ? SUBSTRATE_PAYLOAD : EVM_PAYLOAD

/** Signs one message. */
export const signOne = async (key: Pick<OpenKey, 'sign'>, payload: Payload = EVM_PAYLOAD): Promise<Uint8Array> =>
  onlySignature(await key.sign({ action: 'message_signed', details: {}, payloads: [payload] }))

/** The same by a policy. */
export const signOneBy = async (
  key: OpenPolicyKey,
  spends: { readonly value?: bigint; readonly fee?: bigint } = {},
  payload: Payload = EVM_PAYLOAD,
): Promise<Uint8Array> => {
  const use = { action: 'transaction_signed', details: {}, payloads: [payload] } as const
  return onlySignature(await key.sign({ value: 0n, fee: 0n, ...spends }, use))
}

const LIMITS = { wrongPinsPerHour: 1_000, wrongSecretsPerMinute: 1_000 }

export const bytesOf = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, 'hex'))
export const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
export const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

/** The public key that a phrase has in a family. */
export const publicKeyOfPhrase = async (family: ChainFamily, phrase: string | null): Promise<Uint8Array> => {
  const secret = mnemonicToEntropy(phrase ?? '', wordlist)
  return (await deriveKeyPair({ argon2: createQueue(), stretching: createQueue() }, { family, kind: 'phrase', secret }))
    .publicKey
}

/** An export as text. */
export const textsOf = ({ mnemonicPhrase, privateKey }: ExportedKeyring) => ({
  mnemonicPhrase: mnemonicPhrase && textOf(mnemonicPhrase),
  privateKey: privateKey && textOf(privateKey),
})

/** Writes a key file that only its owner may read. @returns its setting. */
export const keyFile = (content: Uint8Array | string, mode = 0o600): { readonly spec: string; remove(): void } => {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-key-'))
  const path = join(folder, 'key')
  writeFileSync(path, content)
  chmodSync(path, mode)
  return { spec: `file:${path}`, remove: () => rmSync(folder, { recursive: true }) }
}

export const openTestRootKey = async (fill = 0x11) => {
  const file = keyFile(new Uint8Array(32).fill(fill))
  try {
    return await openRootKey(file.spec)
  } finally {
    file.remove()
  }
}

export const openTestSealer = async (fill = 0x22) => {
  const file = keyFile(new Uint8Array(32).fill(fill))
  try {
    return await openSealer({ name: 'SERVICE_KEY', spec: file.spec })
  } finally {
    file.remove()
  }
}

/** Not that of any database. */
export const TEST_DEPLOYMENT_KEY = derivedFrom(new Uint8Array(32).fill(0x33))

export const openTestIdentity = async (fill = 0xa3) => {
  const file = keyFile(new Uint8Array(32).fill(fill))
  try {
    return await openSealer({ name: 'IDENTITY_KEY', spec: file.spec })
  } finally {
    file.remove()
  }
}

/** The guesses of a process, and what a test needs that writes their rows by itself. */
export const openTestGuesses = async (db: Db, openKey: () => Promise<RootKey> = openTestRootKey) => {
  const rootKey = await openKey()
  const projectKeys = createProjectKeys({ db, rootKeys: createRootKeys({ db, rootKey }) })
  const parts = { db, projectKeys, journal: withoutJournal(), now: () => new Date() }
  return {
    ...createGuesses(parts),
    /** Gives a project its first key. */
    makeProjectKey: async (projectId: string) => {
      const identity = identityOf.projectKey({ projectId, version: 1 })
      const wrapped = await rootKey.wrap({ key: crypto.getRandomValues(new Uint8Array(32)), identity })
      await insertProjectKey(db, { projectId, version: 1, rootKeyId: rootKey.id, wrapped })
    },
    forged: (projectId: string) => forgedGuesses(parts, { projectId }),
    /** Makes the MAC of the row as it is, so that it counts as one that a vault has written. */
    authenticate: async (projectId: string, ownerId: string) => {
      const { row } = (await readGuesses(db, { projectId, ownerId, limits: [] })) ?? {}
      if (!row) throw new Error('the owner has no row')
      const mac = await projectKeys.macOf({ version: 1, row: boundGuesses(row) })
      const { rowCount } = await db.execute(
        sql`update pin_guesses set mac = ${mac} where project_id = ${projectId} and owner_id = ${ownerId}`,
      )
      if (rowCount !== 1) throw new Error('the row was not written')
    },
  }
}

export type TestGuesses = Awaited<ReturnType<typeof openTestGuesses>>

export type TestWallet = WalletRow & { readonly publicKey: Uint8Array }

export type VaultWorld = {
  /** With the rights of the vault's role. */
  readonly db: Db
  /** With those of the API's role. */
  readonly api: Db
  readonly url: string
  /** With those of the superuser. */
  readonly sql: Sql
  readonly vault: OperatorVault
  /** The vault of another process: its own pool, cache and queues, with the same keys or others. */
  another(changes?: VaultChanges): Promise<OperatorVault>
  project(secret?: string | null): Promise<string>
  wallet(input: WalletInput): Promise<TestWallet>
  /** Makes a policy of a user-controlled wallet, without limits but a fee budget of 1,000 if nothing else is agreed. */
  policy(wallet: TestWallet, credentials: Credentials, agreed?: Partial<PolicyTerms>): Promise<PolicyTerms>
  close(): Promise<void>
}

type VaultChanges = {
  readonly rootKey?: RootKey
  readonly nextRootKey?: RootKey
  readonly keyLifetimeMs?: number
  readonly journal?: Journal
  readonly now?: () => Date
  /** Its pool, if it has none of its own. */
  readonly db?: Db
}

export type WalletInput = {
  readonly projectId: string
  readonly ownerId: string
  readonly controlMode: ControlMode
  readonly credentials: Credentials
  readonly network?: Network
  readonly type?: WalletType
  readonly imported?: ImportedText
  readonly vault?: OperatorVault
}

const SS58_PREFIXES: Readonly<Record<Network, number>> = { Polkadot: 0, Vara: 137 }

export const chainOf = (network: Network): WalletChain => {
  const ss58Prefix = SS58_PREFIXES[network]
  return ss58Prefix === undefined
    ? { family: 'evm', chainId: network === 'Ethereum' ? 11_155_111 : 80_002 }
    : { family: 'substrate', ss58Prefix }
}

/** The MAC of a wallet's row, where no API reads it. */
export const NO_MAC = new Uint8Array()

/** A fresh database, and a vault on it with the rights of the vault's role. */
export const openWorld = async (
  environment: Environment = 'testnet',
  openKey: () => Promise<RootKey> = openTestRootKey,
  limits: Partial<typeof LIMITS> = {},
): Promise<VaultWorld> => {
  const database = await createDatabase({ withNetworks: true })
  const api = openDb({ url: database.apiUrl, maxConnections: 2, applicationName: 'vault-test-api' })
  const pools: Db[] = [api]
  const flushes: (() => Promise<void>)[] = []
  const another = async (changes: VaultChanges = {}) => {
    const { db: shared, ...others } = changes
    const db = shared ?? openDb({ url: database.vaultUrl, maxConnections: 10, applicationName: 'vault-test' })
    if (shared === undefined) pools.push(db)
    const rootKeys = { rootKey: await openKey(), ...others }
    const parts = {
      db,
      ...rootKeys,
      deploymentKey: await bindDeployment({ db, environment, networks: [], ...rootKeys }),
      environment,
      chainOf,
      limits: { ...LIMITS, ...limits },
      log: console,
      now: () => new Date(),
      ...others,
    }
    const { flushRefusals, lookAtCatalogue: _, ...vault } = createVault(parts)
    flushes.push(flushRefusals)
    return { db, vault }
  }
  const { db, vault } = await another()
  return {
    db,
    api,
    url: database.url,
    sql: database.sql,
    vault,
    another: async (changes) => (await another(changes)).vault,
    project: async (developerSecret = null) => {
      const projectId = randomUUID()
      await insertProject(api, { id: projectId, name: 'Test', activatedAt: null })
      await vault.newProject({ projectId, developerSecret, actor: 'operator' })
      return projectId
    },
    wallet: (input) => makeWallet(api, { vault, ...input }),
    policy: (wallet, credentials, agreed = {}) => makePolicy(vault, { wallet, credentials, agreed }),
    close: async () => {
      await Promise.all(flushes.map((flush) => flush()))
      await Promise.all(pools.map((pool) => pool.close({ timeoutSeconds: 5 })))
      await database.close()
    },
  }
}

type Delegation = {
  readonly wallet: TestWallet
  readonly credentials: Credentials
  readonly agreed: Partial<PolicyTerms>
}

export const newTerms = ({ network }: WalletRow): PolicyTerms => ({
  id: randomUUID(),
  network,
  argumentRules: [{ argument: 'value', operator: 'eq', value: '0' }],
  expiresAt: null,
  maxTotalValue: null,
  maxUses: null,
  maxTotalFee: 1_000n,
  tokenLimits: [],
  rollingLimits: [],
  requireApproval: null,
})

const makePolicy = async (vault: OperatorVault, { wallet, credentials, agreed }: Delegation): Promise<PolicyTerms> => {
  const terms = { ...newTerms(wallet), ...agreed }
  await vault.newPolicy({ wallet, credentials, actor: ACTOR, name: '', terms })
  return terms
}

const makeWallet = async (api: Db, input: WalletInput & { readonly vault: OperatorVault }): Promise<TestWallet> => {
  const id = randomUUID()
  const { projectId, ownerId, controlMode, network = 'Ethereum', type = 'eoa' } = input
  const { family } = chainOf(network)
  const { keyringId, publicKey, address } = await input.vault.newWallet({
    ...input,
    network,
    walletId: id,
    family,
    type,
    actor: ACTOR,
  })
  const of = { id, projectId, ownerId, network, keyringId, controlMode, type, publicKey, address } as const
  await insertWallet(api, { ...of, name: 'w', mac: NO_MAC })
  return of
}

/**
 * Does something while a call waits to check a PIN: after it has read what it needs, and before it writes.
 * @param postgres a pool with two connections. @returns the call's result.
 */
export const whileGuessing = async <Result>(
  postgres: Sql,
  { ownerId }: Pick<WalletRow, 'ownerId'>,
  { begin, meanwhile }: { begin(): Promise<Result>; meanwhile(): Promise<unknown> },
): Promise<Result> => {
  const { promise, resolve } = Promise.withResolvers<Result>()
  await postgres.begin(async (tx) => {
    await tx`select from pin_guesses where owner_id = ${ownerId} for update`
    resolve(begin())
    await untilWaiting(postgres)
    await meanwhile()
  })
  return promise
}

type FrozenScope = 'project' | 'owner' | 'wallet' | 'network'

/** Freezes a wallet in one of the scopes. @returns what ends that. */
export const freezing = async (
  { vault }: Pick<VaultWorld, 'vault'>,
  wallet: WalletRow,
  scope: FrozenScope = 'wallet',
) => {
  const subjects = { project: wallet.projectId, owner: wallet.ownerId, wallet: wallet.id, network: wallet.network }
  const projectId = scope === 'network' ? null : wallet.projectId
  const of = { scope, projectId, subject: subjects[scope], reason: 'test', actor: 'operator' }
  await vault.changeFreezes({ ...of, change: 'freeze' })
  return () => vault.changeFreezes({ ...of, change: 'unfreeze' })
}

/** The code of the AppError that a promise is rejected with, or 'resolved'. Other errors are thrown. */
export const codeOf = async (promise: Promise<unknown>): Promise<string> => {
  try {
    await promise
    return 'resolved'
  } catch (error) {
    if (error instanceof AppError) return error.code
    throw error
  }
}

/** How many times each code occurred. */
export const tally = async (promises: readonly Promise<unknown>[]): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const code of await Promise.all(promises.map(codeOf))) counts[code] = (counts[code] ?? 0) + 1
  return counts
}
