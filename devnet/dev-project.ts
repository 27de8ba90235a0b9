import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { Network } from '../db/words.ts'
import { ANVIL_FUNDED_ADDRESS, type Anvil } from './anvil.ts'
import type { Chopsticks } from './chopsticks.ts'
import type { DevProject } from './dev-folder.ts'
import { callRpc, callRpcForString } from './rpc.ts'

const WalletSchema = Type.Object({ address: Type.String() })

/** The published developer secret, which testnets alone accept. */
export const TESTNET_SECRET = 'testnet-secret'

const FUNDING_WEI = 1000n * 10n ** 18n
const FUNDING_PLANCK = 1000n * 10n ** 12n

type Place = { readonly baseUrl: string; readonly project: DevProject; readonly network: Network }

const headersOf = (project: DevProject) => ({
  authorization: `Bearer ${project.api_key}`,
  'x-walletkit-project-id': project.project_id,
  'content-type': 'application/json',
})

/**
 * The project wallet's address on a network; undefined if this database has no such project, or the project no such
 * wallet.
 */
export const projectWallet = async ({ baseUrl, project, network }: Place): Promise<string | undefined> => {
  const query = new URLSearchParams({ network, owner_id: project.project_id })
  const response = await fetch(`${baseUrl}/wallets/get-by-owner-id?${query}`, { headers: headersOf(project) })
  if (response.status === 401 || response.status === 404) return undefined
  const wallet: unknown = await response.json()
  if (!response.ok || !Value.Check(WalletSchema, wallet)) {
    throw new Error(`The project wallet on ${network} cannot be read: ${response.status} ${JSON.stringify(wallet)}`)
  }
  return wallet.address
}

/** Creates the project wallet on a network that was added after the project. @returns its address. */
export const addProjectWallet = async ({ baseUrl, project, network }: Place): Promise<string> => {
  const wallet = { network, name: 'Project wallet', owner_id: project.project_id, control_mode: 'developer' }
  const response = await fetch(`${baseUrl}/wallets`, {
    method: 'POST',
    headers: headersOf(project),
    body: JSON.stringify({ ...wallet, developer_secret: TESTNET_SECRET }),
  })
  const made: unknown = await response.json()
  if (!response.ok || !Value.Check(WalletSchema, made)) {
    throw new Error(`The project wallet on ${network} cannot be made: ${response.status} ${JSON.stringify(made)}`)
  }
  return made.address
}

/** Sends 1000 coins to a wallet without coins: at the first start, or after the chain was deleted. */
export const fundWallet = async (chain: Anvil, address: string): Promise<void> => {
  const { rpcUrl } = chain
  const balance = await callRpcForString(rpcUrl, { method: 'eth_getBalance', params: [address, 'latest'] })
  if (BigInt(balance) > 0n) return
  const value = `0x${FUNDING_WEI.toString(16)}`
  await callRpc(rpcUrl, 'eth_sendTransactionSync', [{ from: ANVIL_FUNDED_ADDRESS, to: address, value }])
  await chain.save()
}

/** Gives 1000 coins with twelve decimals to a wallet without coins on a Substrate chain. */
export const fundSubstrateWallet = async (chain: Chopsticks, account: string): Promise<void> => {
  if ((await chain.freePlanck(account)) === 0n) await chain.fund({ account, planck: FUNDING_PLANCK })
}
