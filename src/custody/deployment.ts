// One database belongs to one environment, one root key, one service key and one identity key. The first vault writes a row
// that says so, and the first API adds the identity key, which the vault does not have. Each later process compares, and
// refuses to start if something does not fit.
//
// Networks are bound one by one, by the first process that has them, so that a process with a new network can start beside
// processes that do not know it. From then on the name stays with its chain.

import { randomBytes } from 'node:crypto'
import type { Db } from '../../db/client.ts'
import {
  bindIdentityKey,
  type DeploymentRow,
  insertDeployment,
  insertNetworks,
  type NetworkBinding,
  readDeployment,
  readNetworks,
} from '../../db/queries/custody/deployment.ts'
import type { Environment } from '../../db/words.ts'
import { NotReadyYet } from '../errors.ts'
import type { RootKey } from './root/root-key.ts'
import type { Sealer } from './sealer.ts'
import { EnvelopeError } from './sealing/envelope.ts'
import { KEY_BYTES } from './sealing/kdf.ts'

export type Deployment = {
  readonly db: Db
  readonly environment: Environment
  readonly networks: readonly NetworkBinding[]
  /** null in a process that opens no wallet. It cannot write the row, and does not check the root key. */
  readonly rootKey: RootKey | null
  /** The key after `rootKey`, in a process that keeps running during the change. */
  readonly nextRootKey?: RootKey | null | undefined
  readonly sealer: Sealer
  /** null in a process without the identity key. */
  readonly identity: Sealer | null
}

const CHECK = { purpose: 'deployment', rowId: '1' }
const ROOT_CHECK = { ...CHECK, projectId: '', keyringId: '', walletId: '' }

/** A new check value, which only this root key unwraps. */
export const rootKeyCheckOf = (rootKey: RootKey): Promise<Uint8Array> =>
  rootKey.wrap({ key: randomBytes(KEY_BYTES), identity: ROOT_CHECK })

const checkValueOf = (sealer: Sealer): Uint8Array => sealer.seal({ ...CHECK, plaintext: randomBytes(KEY_BYTES) })

/** Whether a check value opens. Other failures are thrown, for instance that a service does not answer. */
const opens = async (open: () => Promise<Uint8Array> | Uint8Array): Promise<boolean> => {
  try {
    await open()
    return true
  } catch (error) {
    if (error instanceof EnvelopeError) return false
    throw error
  }
}

const chainOf = ({ family, chainId }: NetworkBinding): string =>
  chainId === null ? `a network of the family ${family}` : `the chain with id ${chainId}`

/** @throws Error if a network is bound to another chain, or a chain to another network. */
const requireSameChains = (bound: readonly NetworkBinding[], ours: readonly NetworkBinding[]): void => {
  for (const network of ours) {
    const { name, chainId } = network
    const same = bound.find((each) => each.name === name)
    if (same !== undefined && chainOf(same) !== chainOf(network)) {
      throw new Error(`${name} is ${chainOf(network)} in this process, and ${chainOf(same)} in this database.`)
    }
    const other = bound.find((each) => each.chainId !== null && each.chainId === chainId && each.name !== name)
    if (other !== undefined) {
      throw new Error(
        `${name} is ${chainOf(network)} in this process; in this database that chain is named ${other.name}.`,
      )
    }
  }
}

/** Binds the networks that this database does not know yet, if this process may. */
const bindNetworks = async ({ db, networks, rootKey }: Deployment): Promise<void> => {
  const isUnknownTo = (bound: readonly NetworkBinding[]) =>
    networks.filter(({ name }) => !bound.some((each) => each.name === name))
  const before = await readNetworks(db)
  requireSameChains(before, networks)
  const unknown = isUnknownTo(before)
  if (unknown.length === 0) return
  if (rootKey !== null) await insertNetworks(db, unknown)
  const after = await readNetworks(db)
  // Another process may have been faster, with another chain.
  requireSameChains(after, networks)
  const missing = isUnknownTo(after).map(({ name }) => name)
  if (missing.length > 0) {
    throw new NotReadyYet(
      `This database does not know ${missing.join(', ')} yet: start a process that has the root key and the same networks first.`,
    )
  }
}

const requireRootKey = async (row: DeploymentRow, held: readonly RootKey[]): Promise<void> => {
  const fitting = held.find(({ id }) => id === row.rootKeyId)
  if (fitting === undefined) {
    const found = held.map(({ id }) => id).join(' or ')
    throw new Error(`The root key does not fit this database: it is ${found}, and should be ${row.rootKeyId}.`)
  }
  if (!(await opens(() => fitting.unwrap({ wrapped: row.rootKeyCheck, identity: ROOT_CHECK })))) {
    throw new Error('The root key does not fit this database: it does not open the check value.')
  }
}

/** @param rootKeyIds those that this process has, and the one that the database belongs to. */
const requireDifferentKeys = ({ sealer, identity }: Deployment, rootKeyIds: readonly (string | undefined)[]): void => {
  if (rootKeyIds.includes(sealer.id)) throw new Error('ROOT_KEY and SERVICE_KEY must be two different keys.')
  if (identity !== null && rootKeyIds.includes(identity.id)) {
    throw new Error('ROOT_KEY and IDENTITY_KEY must be two different keys.')
  }
  if (identity?.id === sealer.id) throw new Error('IDENTITY_KEY and SERVICE_KEY must be two different keys.')
}

/** Binds the database to the identity key, or checks that it already is. */
const requireIdentity = async (
  { db, identity }: Pick<Deployment, 'db' | 'identity'>,
  bound: Uint8Array | null,
): Promise<void> => {
  if (identity === null) return
  if (bound !== null) return requireFit('identity', identity, bound)
  await bindIdentityKey(db, checkValueOf(identity))
  const row = await readDeployment(db)
  await requireIdentity({ db, identity }, row?.identityKeyCheck ?? null)
}

const requireFit = async (what: string, sealer: Sealer, sealed: Uint8Array): Promise<void> => {
  if (await opens(() => sealer.open({ ...CHECK, sealed }))) return
  throw new Error(`The ${what} key does not fit this database: it does not open the check value.`)
}

/**
 * Binds the database to this environment, these networks and these keys, or checks that it already is.
 * @throws NotReadyYet in a process without the root key, which comes too early.
 */
export const checkDeployment = async (input: Deployment): Promise<void> => {
  const { db, rootKey, sealer } = input
  const held = [rootKey, input.nextRootKey ?? null].filter((key) => key !== null)
  const before = await readDeployment(db)
  requireDifferentKeys(input, [before?.rootKeyId, ...held.map(({ id }) => id)])
  if (rootKey !== null && before === null) {
    await insertDeployment(db, {
      environment: input.environment,
      rootKeyId: rootKey.id,
      rootKeyCheck: await rootKeyCheckOf(rootKey),
      serviceKeyCheck: checkValueOf(sealer),
      identityKeyCheck: null,
    })
  }
  const row = await requireEnvironment(input)
  if (held.length > 0) await requireRootKey(row, held)
  await requireFit('service', sealer, row.serviceKeyCheck)
  await requireIdentity(input, row.identityKeyCheck)
  await bindNetworks(input)
}

/** Checks without a key that the database belongs to this environment. @throws NotReadyYet if it belongs to none yet. */
export const requireEnvironment = async ({
  db,
  environment,
}: Pick<Deployment, 'db' | 'environment'>): Promise<DeploymentRow> => {
  const row = await readDeployment(db)
  if (row === null) {
    throw new NotReadyYet('This database is not set up yet: start a process that has the root key first.')
  }
  if (row.environment === environment) return row
  throw new Error(`This database belongs to ${row.environment}, and this process is set up for ${environment}.`)
}
