// Whether a Safe is controlled by its owner's key alone: read in one batch, at the newest block; a change is read once
// more, at one block. The contract at the address may be any contract, so an answer that cannot be decoded is not a
// Safe's.

import { decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem/utils'
import type { Network } from '../../../../db/words.ts'
import type { Hex } from '../../chain.ts'
import type { ContractWallet, ContractWalletState } from '../../contract-wallets.ts'
import { type Question, question, type Rpc } from '../../node/rpc.ts'
import { bytes, quantity, toQuantity } from '../../node/wire.ts'
import { notProvided } from '../../provided.ts'
import { checksum, ZERO_ADDRESS } from '../address.ts'
import { decoded, readQuestion, returned } from '../call.ts'
import { PROXY_CODE, SAFE_ADDRESSES, SENTINEL, SLOTS } from './settings.ts'

const OWNERS = parseAbi(['function getOwners() view returns (address[])'])
const THRESHOLD = parseAbi(['function getThreshold() view returns (uint256)'])
const MODULES = parseAbi([
  'function getModulesPaginated(address start, uint256 pageSize) view returns (address[] array, address next)',
])
/** A single module is enough to refuse the wallet. */
const MODULE_PAGE = 10n
const READ_GAS_LIMIT = 1_000_000n
const OWNERS_SHOWN = 5

type Found = {
  readonly code: Hex
  readonly singleton: string
  readonly guard: string
  readonly fallbackHandler: string
  /** null if the contract did not answer like a Safe. */
  readonly owners: readonly string[] | null
  readonly threshold: bigint | null
  readonly hasModules: boolean | null
}

/** The newest block if none is given. */
const toBlock = ({ blockNumber }: { readonly blockNumber?: bigint }): string =>
  blockNumber === undefined ? 'latest' : toQuantity(blockNumber)

const codeQuestion = (address: string, block: string): Question<Hex> => question('eth_getCode', [address, block], bytes)

/** The address in the lower 20 bytes of a slot. */
const slotQuestion = (address: string, slot: Hex, block: string): Question<string> =>
  question('eth_getStorageAt', [address, slot, block], (value) =>
    checksum(`0x${BigInt.asUintN(160, quantity(value)).toString(16).padStart(40, '0')}`),
  )

/** Whether Safe's own contracts were found on the chain. They cannot disappear. */
export type SafesFound = { contracts: boolean }

const isMissingQuestion = (address: string): Question<boolean> =>
  question('eth_getCode', [address, 'latest'], (value) => bytes(value) === '0x')

/** Without this check, calls to missing contracts would succeed and do nothing. */
const assertContracts = async (rpc: Rpc, network: Network, seen: SafesFound): Promise<void> => {
  if (seen.contracts) return
  const addresses = Object.values(SAFE_ADDRESSES)
  const isMissing: readonly boolean[] = await rpc.askAll(addresses.map(isMissingQuestion))
  const missing = addresses.find((_, index) => isMissing[index])
  if (missing !== undefined) {
    throw notProvided(
      `Contract wallets need Safe's contracts, version 1.4.1: the node of ${network} has none at ${missing}.`,
    )
  }
  seen.contracts = true
}

const find = async (
  rpc: Rpc,
  { address, ...at }: { readonly address: string; readonly blockNumber?: bigint },
): Promise<Found> => {
  const block = toBlock(at)
  const read = (data: Hex) => readQuestion({ to: address, data, gasLimit: READ_GAS_LIMIT, ...at })
  const [code, singleton, guard, fallbackHandler, owners, threshold, modules] = await rpc.tryAll([
    codeQuestion(address, block),
    slotQuestion(address, SLOTS.singleton, block),
    slotQuestion(address, SLOTS.guard, block),
    slotQuestion(address, SLOTS.fallbackHandler, block),
    read(encodeFunctionData({ abi: OWNERS })),
    read(encodeFunctionData({ abi: THRESHOLD })),
    read(encodeFunctionData({ abi: MODULES, args: [SENTINEL, MODULE_PAGE] })),
  ])
  return {
    code: rpc.need(code),
    singleton: rpc.need(singleton),
    guard: rpc.need(guard),
    fallbackHandler: rpc.need(fallbackHandler),
    owners: decoded(returned(rpc, owners), (data) => decodeFunctionResult({ abi: OWNERS, data })),
    threshold: decoded(returned(rpc, threshold), (data) => decodeFunctionResult({ abi: THRESHOLD, data })),
    hasModules: decoded(returned(rpc, modules), (data) => decodeFunctionResult({ abi: MODULES, data })[0].length > 0),
  }
}

const describeOwners = (owners: readonly string[]): string => {
  const shown = owners.slice(0, OWNERS_SHOWN).join(', ')
  const more = owners.length - OWNERS_SHOWN
  return `its ${owners.length === 1 ? 'owner is' : 'owners are'} ${shown}${more > 0 ? ` and ${more} more` : ''}`
}

/** How the wallet differs from its settings, as the end of a sentence; null if it does not. Pure. */
const findDifference = (found: Found, owner: string): string | null => {
  const { owners, threshold, hasModules, guard, fallbackHandler } = found
  if (found.code !== PROXY_CODE || found.singleton !== SAFE_ADDRESSES.singleton) return 'its code is another one'
  if (owners === null || threshold === null || hasModules === null) return 'it is no longer a Safe'
  if (owners.length !== 1 || owners[0] !== owner) return describeOwners(owners)
  if (threshold !== 1n) return `its threshold is ${threshold}`
  if (hasModules) return 'a module is enabled'
  if (guard !== ZERO_ADDRESS) return 'a guard is set'
  return fallbackHandler === SAFE_ADDRESSES.fallbackHandler ? null : `its fallback handler is ${fallbackHandler}`
}

const judge = (found: Found, owner: string): ContractWalletState => {
  if (found.code === '0x') return { kind: 'undeployed' }
  const how = findDifference(found, owner)
  return how === null ? { kind: 'ready' } : { kind: 'changed', how }
}

export const readState = async (
  { rpc, network, seen }: { readonly rpc: Rpc; readonly network: Network; readonly seen: SafesFound },
  { address, owner }: ContractWallet,
): Promise<ContractWalletState> => {
  await assertContracts(rpc, network, seen)
  const newest = judge(await find(rpc, { address }), owner)
  if (newest.kind !== 'changed') return newest
  // A block may have come between the answers, with the deployment: only those of one block prove a change.
  const blockNumber = await rpc.ask(question('eth_blockNumber', [], quantity))
  return judge(await find(rpc, { address, blockNumber }), owner)
}

export const isDeployed = async (
  rpc: Rpc,
  { address, ...at }: { readonly address: string; readonly blockNumber?: bigint },
): Promise<boolean> => (await rpc.ask(codeQuestion(address, toBlock(at)))) !== '0x'
