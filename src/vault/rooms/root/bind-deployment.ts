// What a vault does with the row that binds a database (deployment.ts): the first one writes it, and each opens the
// deployment's key.

import type { Db } from '../../../../db/client.ts'
import { NETWORKS_LIST } from '../../../../db/queries/freezes.ts'
import {
  insertDeployment,
  insertNetworks,
  readDeployment,
  readDeploymentKey,
  readNetworks,
} from '../../../../db/queries/vault/deployment.ts'
import {
  type Deployment,
  isUnknownTo,
  requireDifferentKeys,
  requireEnvironment,
  requireNetworks,
  requireSameChains,
} from '../../../platform/deployment.ts'
import { EnvelopeError } from '../../../platform/sealing/envelope.ts'
import { firstFreezeList } from '../wallets/freezes.ts'
import { type DeploymentKey, newDeploymentKey, openDeploymentKey, type RootKey } from './root-key.ts'

type OfVault = Deployment & {
  readonly rootKey: RootKey
  /** The key after `rootKey`, in a vault that keeps running during the change. */
  readonly nextRootKey?: RootKey | null | undefined
}

const bindNetworks = async (input: Deployment): Promise<void> => {
  const bound = await readNetworks(input.db)
  requireSameChains(bound, input.networks)
  const unknown = isUnknownTo(bound, input.networks)
  if (unknown.length > 0) await insertNetworks(input.db, unknown)
  // Another vault may have been faster, with another chain.
  await requireNetworks(input)
}

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

/** Binds the database to environment, networks and root key, or checks that it already is bound to them. */
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
