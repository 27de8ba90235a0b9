// One database belongs to one environment, one root key, one service key and one identity key. The first vault writes a
// row that says so, and the first API adds its two keys, which the vault does not have. Each later process compares,
// and refuses to start if something does not fit.
//
// Networks are bound one by one, by the first vault that has them, so that a vault with a new network can start beside
// processes that do not know it. From then on the name stays with its chain.

import type { Db } from '../../db/client.ts'
import { readRetiredKeyIds } from '../../db/queries/retired-keys.ts'
import {
  bindApiKeys,
  type DeploymentRow,
  type NetworkBinding,
  readDeployment,
  readNetworks,
} from '../../db/queries/vault/deployment.ts'
import type { Environment } from '../../db/words.ts'
import type { Config } from './config.ts'
import { NotReadyYet } from './errors.ts'
import type { Sealer } from './sealing/sealer.ts'

export type Deployment = {
  readonly db: Db
  readonly environment: Environment
  readonly networks: readonly NetworkBinding[]
}

/** The networks of this process that the database is bound to, with or without a node. */
export const bindingsOf = ({ networks }: Pick<Config, 'networks'>) =>
  networks.map((row) => ({
    name: row.network,
    family: row.family,
    chainId: 'chainId' in row ? row.chainId : null,
  }))

type OfOthers = Deployment & {
  readonly sealer: Sealer
  /** null in a process without the identity key. */
  readonly identity: Sealer | null
}

const chainOf = ({ family, chainId }: NetworkBinding): string =>
  chainId === null ? `a network of the family ${family}` : `the chain with id ${chainId}`

/** @throws Error if a network is bound to another chain, or a chain to another network. */
export const requireSameChains = (bound: readonly NetworkBinding[], networks: readonly NetworkBinding[]): void => {
  for (const network of networks) {
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

export const isUnknownTo = (bound: readonly NetworkBinding[], networks: readonly NetworkBinding[]) =>
  networks.filter(({ name }) => !bound.some((each) => each.name === name))

export const requireNetworks = async ({ db, networks }: Deployment): Promise<void> => {
  const bound = await readNetworks(db)
  requireSameChains(bound, networks)
  const missing = isUnknownTo(bound, networks).map(({ name }) => name)
  if (missing.length === 0) return
  throw new NotReadyYet(
    `This database does not know ${missing.join(', ')} yet: start a vault with these networks first.`,
  )
}

type KeyIds = Readonly<Record<'ROOT_KEY' | 'SERVICE_KEY' | 'IDENTITY_KEY', readonly (string | null | undefined)[]>>

export const requireDifferentKeys = (ids: KeyIds): void => {
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

/** The process's own key may also be the next one, if it has the present one beside it. */
const requireFit = (
  what: string,
  key: Sealer,
  bindings: { readonly bound: string | null; readonly retired: readonly string[] },
): void => {
  const { bound, retired } = bindings
  const isNext = key.other()?.id === bound && !retired.includes(key.id)
  if (bound !== key.id && !isNext) {
    throw new Error(`The ${what} key does not fit this database: it is ${key.id}, and should be ${bound}.`)
  }
  key.retire(retired)
}

/**
 * For every process but a vault. The first process with the identity key binds its keys.
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

/** Needs no key. @throws NotReadyYet if the database belongs to no environment yet. */
export const requireEnvironment = async ({
  db,
  environment,
}: Pick<Deployment, 'db' | 'environment'>): Promise<DeploymentRow> => {
  const row = await readDeployment(db)
  if (row === null) throw new NotReadyYet('This database is not set up yet: start a vault first.')
  if (row.environment === environment) return row
  throw new Error(`This database belongs to ${row.environment}, and this process is set up for ${environment}.`)
}
