// One database belongs to one environment, one root key, one service key and one identity key. The first vault writes a row
// that says so, and the first API adds its two keys, which the vault does not have. Each later process compares, and refuses
// to start if something does not fit.
//
// Networks are bound one by one, by the first vault that has them, so that a vault with a new network can start beside
// processes that do not know it. From then on the name stays with its chain.

import type { Db } from '../../db/client.ts'
import {
  bindApiKeys,
  type DeploymentRow,
  insertDeployment,
  insertNetworks,
  type NetworkBinding,
  readDeployment,
  readDeploymentKey,
  readNetworks,
} from '../../db/queries/custody/deployment.ts'
import { NETWORKS_LIST } from '../../db/queries/freezes.ts'
import { readRetiredKeyIds } from '../../db/queries/retired-keys.ts'
import type { Environment } from '../../db/words.ts'
import { NotReadyYet } from '../errors.ts'
import { type DeploymentKey, newDeploymentKey, openDeploymentKey } from './root/deployment-key.ts'
import type { RootKey } from './root/root-key.ts'
import type { Sealer } from './sealer.ts'
import { EnvelopeError } from './sealing/envelope.ts'
import { firstFreezeList } from './wallets/freezes.ts'

export type { DeploymentKey }

type Deployment = {
  readonly db: Db
  readonly environment: Environment
  readonly networks: readonly NetworkBinding[]
}

type OfVault = Deployment & {
  readonly rootKey: RootKey
  /** The key after `rootKey`, in a vault that keeps running during the change. */
  readonly nextRootKey?: RootKey | null | undefined
}

type OfOthers = Deployment & {
  readonly sealer: Sealer
  /** null in a process without the identity key. */
  readonly identity: Sealer | null
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

const isUnknownTo = (bound: readonly NetworkBinding[], ours: readonly NetworkBinding[]) =>
  ours.filter(({ name }) => !bound.some((each) => each.name === name))

const requireNetworks = async ({ db, networks }: Deployment): Promise<void> => {
  const bound = await readNetworks(db)
  requireSameChains(bound, networks)
  const missing = isUnknownTo(bound, networks).map(({ name }) => name)
  if (missing.length === 0) return
  throw new NotReadyYet(
    `This database does not know ${missing.join(', ')} yet: start a vault with these networks first.`,
  )
}

/** Binds the networks that this database does not know yet. */
const bindNetworks = async (input: Deployment): Promise<void> => {
  const bound = await readNetworks(input.db)
  requireSameChains(bound, input.networks)
  const unknown = isUnknownTo(bound, input.networks)
  if (unknown.length > 0) await insertNetworks(input.db, unknown)
  // Another vault may have been faster, with another chain.
  await requireNetworks(input)
}

/** The deployment's key, which only the right root key opens. */
const openWithFitting = async (db: Db, held: readonly RootKey[]): Promise<DeploymentKey> => {
  const row = await readDeploymentKey(db)
  if (row === null) throw new Error('The table deployment_key has lost its row: put it back from a backup.')
  const { rootKeyId, wrapped } = row
  const fitting = held.find(({ id }) => id === rootKeyId)
  if (fitting === undefined) {
    const found = held.map(({ id }) => id).join(' or ')
    throw new Error(`The root key does not fit this database: it is ${found}, and should be ${rootKeyId}.`)
  }
  try {
    return await openDeploymentKey(fitting, wrapped)
  } catch (error) {
    if (!(error instanceof EnvelopeError)) throw error
    throw new Error("The root key does not fit this database: it does not open the deployment's key.")
  }
}

type KeyIds = Readonly<Record<'ROOT_KEY' | 'SERVICE_KEY' | 'IDENTITY_KEY', readonly (string | null | undefined)[]>>

const requireDifferentKeys = (ids: KeyIds): void => {
  const pairs = [
    ['ROOT_KEY', 'SERVICE_KEY'],
    ['ROOT_KEY', 'IDENTITY_KEY'],
    ['IDENTITY_KEY', 'SERVICE_KEY'],
  ] as const
  for (const [one, other] of pairs) {
    if (!ids[one].some((id) => id && ids[other].includes(id))) continue
    throw new Error(`${one} and ${other} must be two different keys.`)
  }
}

/**
 * Binds the database to this environment, these networks and this root key, or checks that it already is: a vault.
 * @returns the deployment's key.
 */
export const bindDeployment = async (input: OfVault): Promise<DeploymentKey> => {
  const { db, environment, rootKey } = input
  const held = [rootKey, input.nextRootKey ?? null].filter((key) => key !== null)
  if ((await readDeployment(db)) === null) {
    const wrapped = await newDeploymentKey(rootKey)
    const freezes = firstFreezeList(await openDeploymentKey(rootKey, wrapped), NETWORKS_LIST)
    await insertDeployment(db, { environment, rootKeyId: rootKey.id, wrapped, freezes })
  }
  const row = await requireEnvironment(input)
  const ids = held.map(({ id }) => id)
  requireDifferentKeys({ ROOT_KEY: ids, SERVICE_KEY: [row.serviceKeyId], IDENTITY_KEY: [row.identityKeyId] })
  const deploymentKey = await openWithFitting(db, held)
  await bindNetworks(input)
  return deploymentKey
}

/** The process's own key may also be the next one, if it has the present one beside it. */
const requireFit = (
  what: string,
  key: Sealer,
  of: { readonly bound: string | null; readonly retired: readonly string[] },
): void => {
  const { bound, retired } = of
  const isNext = key.other()?.id === bound && !retired.includes(key.id)
  if (bound !== key.id && !isNext) {
    throw new Error(`The ${what} key does not fit this database: it is ${key.id}, and should be ${bound}.`)
  }
  key.retire(retired)
}

/**
 * Checks that the database belongs to this environment, these networks and these keys: every process but a vault. The first one
 * with the identity key binds its keys.
 * @throws NotReadyYet in a process that comes too early.
 */
export const checkDeployment = async (input: OfOthers): Promise<void> => {
  const { db, sealer, identity } = input
  let row = await requireEnvironment(input)
  requireDifferentKeys({
    ROOT_KEY: [row.rootKeyId],
    SERVICE_KEY: [sealer.id, sealer.other()?.id],
    IDENTITY_KEY: [identity?.id, identity?.other()?.id],
  })
  if (row.identityKeyId === null && identity !== null) {
    await bindApiKeys(db, { serviceKeyId: sealer.id, identityKeyId: identity.id })
    row = await requireEnvironment(input)
  }
  if (row.identityKeyId === null) {
    throw new NotReadyYet('This database does not know the service key yet: start an API first.')
  }
  const retired = await readRetiredKeyIds(db)
  requireFit('service', sealer, { bound: row.serviceKeyId, retired })
  if (identity !== null) requireFit('identity', identity, { bound: row.identityKeyId, retired })
  await requireNetworks(input)
}

/** Checks without a key that the database belongs to this environment. @throws NotReadyYet if it belongs to none yet. */
export const requireEnvironment = async ({
  db,
  environment,
}: Pick<Deployment, 'db' | 'environment'>): Promise<DeploymentRow> => {
  const row = await readDeployment(db)
  if (row === null) throw new NotReadyYet('This database is not set up yet: start a vault first.')
  if (row.environment === environment) return row
  throw new Error(`This database belongs to ${row.environment}, and this process is set up for ${environment}.`)
}
