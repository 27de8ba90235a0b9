// Whether a Safe still obeys its owner's key, and nothing else: read in one batch, as of the newest block. What is at an
// address with code is outside data; whatever cannot be read as a Safe's answer is no Safe's.

import { decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem'
import type { Network } from '../../../../db/words.ts'
import { AppError } from '../../../errors.ts'
import type { Hex } from '../../chain.ts'
import type { ContractWallet, ContractWalletState } from '../../contract-wallets.ts'
import { type Answer, type Question, question, type Rpc } from '../../node/rpc.ts'
import { bytes, quantity, toQuantity } from '../../node/wire.ts'
import { checksum, ZERO_ADDRESS } from '../address.ts'
import { readQuestion } from '../call.ts'
import { isExecutionFailure } from '../node-errors.ts'
import { SAFE_ADDRESSES } from './settings.ts'
import { PROXY_CODE, SENTINEL, SLOTS } from './storage.ts'

const OWNERS = parseAbi(['function getOwners() view returns (address[])'])
const THRESHOLD = parseAbi(['function getThreshold() view returns (uint256)'])
const MODULES = parseAbi([
  'function getModulesPaginated(address start, uint256 pageSize) view returns (address[] array, address next)',
])
/** One is one too many. */
const MODULE_PAGE = 10n
/** What may stand in the place of a Safe may burn as much as it is given; a Safe takes some ten thousand. */
const READ_GAS_LIMIT = 1_000_000n
/** How many owners a sentence names. */
const OWNERS_SHOWN = 5

type Found = {
  readonly code: Hex
  readonly singleton: string
  readonly guard: string
  readonly fallbackHandler: string
  /** null where the contract did not answer as a Safe does. */
  readonly owners: readonly string[] | null
  readonly threshold: bigint | null
  readonly hasModules: boolean | null
}

const codeQuestion = (address: string, block: string): Question<Hex> => question('eth_getCode', [address, block], bytes)

/** The lower 20 bytes of a slot, as its readers take it. */
const slotQuestion = (address: string, slot: Hex): Question<string> =>
  question('eth_getStorageAt', [address, slot, 'latest'], (value) =>
    checksum(`0x${BigInt.asUintN(160, quantity(value)).toString(16).padStart(40, '0')}`),
  )

/** What a contract answered, null where that is no answer. */
const told = <T>(rpc: Rpc, answer: Answer<Hex>, decode: (data: Hex) => T): T | null => {
  if (!answer.ok) {
    if (isExecutionFailure(answer.error)) return null
    throw rpc.refusal(answer.error)
  }
  try {
    return decode(answer.value)
  } catch {
    return null
  }
}

/** Whether Safe's own contracts were seen on the chain: from then on they are there. */
export type SafesSeen = { contracts: boolean }

const isMissingQuestion = (address: string): Question<boolean> =>
  question('eth_getCode', [address, 'latest'], (value) => bytes(value) === '0x')

/** What goes to an address without code succeeds, and does nothing. */
const assertContracts = async (rpc: Rpc, network: Network, seen: SafesSeen): Promise<void> => {
  if (seen.contracts) return
  const addresses = Object.values(SAFE_ADDRESSES)
  const isMissing: readonly boolean[] = await rpc.askAll(addresses.map(isMissingQuestion))
  const missing = addresses.find((_, index) => isMissing[index])
  if (missing !== undefined) {
    throw new AppError(
      'not_implemented',
      `Contract wallets need Safe's contracts, version 1.4.1: the node of ${network} has none at ${missing}.`,
    )
  }
  seen.contracts = true
}

const find = async (rpc: Rpc, address: string): Promise<Found> => {
  const read = (data: Hex) => readQuestion({ to: address, data, gasLimit: READ_GAS_LIMIT })
  const [code, singleton, guard, fallbackHandler, owners, threshold, modules] = await rpc.tryAll([
    codeQuestion(address, 'latest'),
    slotQuestion(address, SLOTS.singleton),
    slotQuestion(address, SLOTS.guard),
    slotQuestion(address, SLOTS.fallbackHandler),
    read(encodeFunctionData({ abi: OWNERS })),
    read(encodeFunctionData({ abi: THRESHOLD })),
    read(encodeFunctionData({ abi: MODULES, args: [SENTINEL, MODULE_PAGE] })),
  ])
  return {
    code: rpc.need(code),
    singleton: rpc.need(singleton),
    guard: rpc.need(guard),
    fallbackHandler: rpc.need(fallbackHandler),
    owners: told(rpc, owners, (data) => decodeFunctionResult({ abi: OWNERS, data })),
    threshold: told(rpc, threshold, (data) => decodeFunctionResult({ abi: THRESHOLD, data })),
    hasModules: told(rpc, modules, (data) => decodeFunctionResult({ abi: MODULES, data })[0].length > 0),
  }
}

const namesOf = (owners: readonly string[]): string => {
  const shown = owners.slice(0, OWNERS_SHOWN).join(', ')
  const more = owners.length - OWNERS_SHOWN
  return `its ${owners.length === 1 ? 'owner is' : 'owners are'} ${shown}${more > 0 ? ` and ${more} more` : ''}`
}

/** What differs from the settings, as the end of a sentence; null where nothing does. Pure. */
const differenceOf = (found: Found, owner: string): string | null => {
  const { owners, threshold, hasModules, guard, fallbackHandler } = found
  if (found.code !== PROXY_CODE || found.singleton !== SAFE_ADDRESSES.singleton) return 'its code is another one'
  if (owners === null || threshold === null || hasModules === null) return 'it is no longer a Safe'
  if (owners.length !== 1 || owners[0] !== owner) return namesOf(owners)
  if (threshold !== 1n) return `its threshold is ${threshold}`
  if (hasModules) return 'a module is enabled'
  if (guard !== ZERO_ADDRESS) return 'a guard is set'
  return fallbackHandler === SAFE_ADDRESSES.fallbackHandler ? null : `its fallback handler is ${fallbackHandler}`
}

export const readState = async (
  { rpc, network, seen }: { readonly rpc: Rpc; readonly network: Network; readonly seen: SafesSeen },
  { address, owner }: ContractWallet,
): Promise<ContractWalletState> => {
  await assertContracts(rpc, network, seen)
  const found = await find(rpc, address)
  if (found.code === '0x') return { kind: 'undeployed' }
  const how = differenceOf(found, owner)
  return how === null ? { kind: 'ready' } : { kind: 'changed', how }
}

export const isDeployed = async (
  rpc: Rpc,
  { address, blockNumber }: { readonly address: string; readonly blockNumber?: bigint },
): Promise<boolean> => {
  const block = blockNumber === undefined ? 'latest' : toQuantity(blockNumber)
  return (await rpc.ask(codeQuestion(address, block))) !== '0x'
}
