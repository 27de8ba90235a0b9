import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import {
  getCompatibilityFallbackHandlerDeployment,
  getCreateCallDeployment,
  getMultiSendCallOnlyDeployment,
  getMultiSendDeployment,
  getProxyFactoryDeployment,
  getSafeL2SingletonDeployment,
  getSafeSingletonDeployment,
  getSignMessageLibDeployment,
  getSimulateTxAccessorDeployment,
} from '@safe-global/safe-deployments'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { concat, type Hex, isHex, keccak256, zeroHash } from 'viem'
import { ANVIL_FUNDED_ADDRESS } from './anvil.ts'
import { callRpc, callRpcForString } from './rpc.ts'

/**
 * Safe 1.4.1 on a local chain, at its public addresses.
 *
 * Those addresses come from CREATE2 by Safe's singleton factory with salt 0. The factory has the code of the
 * deterministic deployment proxy that is built into anvil, so we put that code at the factory's address. The other
 * contracts are deployed as on the public chains, and checked with the code hashes that Safe publishes.
 */
const SAFE_VERSION = '1.4.1'
const SINGLETON_FACTORY = '0x914d7Fec6aaC8cd542e72Bca78B30650d45643d7'
const DETERMINISTIC_DEPLOYMENT_PROXY = '0x4e59b44847b379578588920cA78FbF26c0B4956C'
/** The largest of these contracts needs 5.4 million. */
const DEPLOYMENT_GAS = '0x7a1200'

const CONTRACTS = [
  { artifact: 'Safe.sol/Safe', deploymentOf: getSafeSingletonDeployment },
  { artifact: 'SafeL2.sol/SafeL2', deploymentOf: getSafeL2SingletonDeployment },
  { artifact: 'proxies/SafeProxyFactory.sol/SafeProxyFactory', deploymentOf: getProxyFactoryDeployment },
  {
    artifact: 'handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler',
    deploymentOf: getCompatibilityFallbackHandlerDeployment,
  },
  { artifact: 'libraries/MultiSend.sol/MultiSend', deploymentOf: getMultiSendDeployment },
  { artifact: 'libraries/MultiSendCallOnly.sol/MultiSendCallOnly', deploymentOf: getMultiSendCallOnlyDeployment },
  { artifact: 'libraries/SignMessageLib.sol/SignMessageLib', deploymentOf: getSignMessageLibDeployment },
  { artifact: 'libraries/CreateCall.sol/CreateCall', deploymentOf: getCreateCallDeployment },
  { artifact: 'accessors/SimulateTxAccessor.sol/SimulateTxAccessor', deploymentOf: getSimulateTxAccessorDeployment },
] as const

const ArtifactSchema = Type.Object({ bytecode: Type.String() })

type CanonicalContract = { readonly name: string; readonly address: string; readonly codeHash: string }

const canonicalContract = (contract: (typeof CONTRACTS)[number]): CanonicalContract => {
  const deployment = contract.deploymentOf({ version: SAFE_VERSION })?.deployments.canonical
  if (deployment === undefined) throw new Error(`Safe publishes no canonical address for ${contract.artifact}.`)
  return { name: contract.artifact, ...deployment }
}

const creationCode = (name: string): Hex => {
  const path = createRequire(import.meta.url).resolve(
    `@safe-global/safe-contracts/build/artifacts/contracts/${name}.json`,
  )
  const artifact: unknown = JSON.parse(readFileSync(path, 'utf8'))
  if (!Value.Check(ArtifactSchema, artifact) || !isHex(artifact.bytecode)) {
    throw new Error(`The artifact of ${name} has no bytecode.`)
  }
  return artifact.bytecode
}

const codeHashAt = async (rpcUrl: string, address: string): Promise<string> => {
  const code = await callRpcForString(rpcUrl, { method: 'eth_getCode', params: [address, 'latest'] })
  return keccak256(isHex(code) ? code : '0x')
}

const putFactory = async (rpcUrl: string): Promise<void> => {
  const params = [DETERMINISTIC_DEPLOYMENT_PROXY, 'latest']
  const code = await callRpcForString(rpcUrl, { method: 'eth_getCode', params })
  await callRpc(rpcUrl, 'anvil_setCode', [SINGLETON_FACTORY, code])
}

const deploy = async (rpcUrl: string, contract: CanonicalContract): Promise<void> => {
  const data = concat([zeroHash, creationCode(contract.name)])
  const transaction = { from: ANVIL_FUNDED_ADDRESS, to: SINGLETON_FACTORY, data, gas: DEPLOYMENT_GAS }
  await callRpc(rpcUrl, 'eth_sendTransactionSync', [transaction])
  const codeHash = await codeHashAt(rpcUrl, contract.address)
  if (codeHash !== contract.codeHash) {
    throw new Error(`${contract.name} has code hash ${codeHash} at ${contract.address}, expected ${contract.codeHash}.`)
  }
}

/**
 * Deploys the missing contracts of Safe 1.4.1 to a local anvil chain.
 * @throws Error if a contract is then not at its canonical address with its published code
 */
export const deployCanonicalContracts = async (rpcUrl: string): Promise<void> => {
  const contracts = CONTRACTS.map(canonicalContract)
  const hashes = await Promise.all(contracts.map(({ address }) => codeHashAt(rpcUrl, address)))
  const missing = contracts.filter((contract, index) => hashes[index] !== contract.codeHash)
  if (missing.length === 0) return
  await putFactory(rpcUrl)
  for (const contract of missing) await deploy(rpcUrl, contract)
}
