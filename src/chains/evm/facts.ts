// Facts about an address. For a contract they are read once and stored. An address without code is read each time,
// because a contract may be created there later. One without a name is read again: it may be an unset proxy.

import { decodeAbiParameters, encodeFunctionData, parseAbi } from 'viem/utils'
import type { AssetStandard, Network } from '../../../db/words.ts'
import type { AddressFacts, Balances, ChainMemory, FactsByAddress, Hex } from '../chain.ts'
import type { NodePool } from '../node/pool.ts'
import { question, type Rpc } from '../node/rpc.ts'
import { bytes, hexText, quantity, toQuantity } from '../node/wire.ts'
import { type Believed, rememberedFacts } from '../remembered.ts'
import { cleanText } from '../text.ts'
import { ZERO_ADDRESS } from './address.ts'
import { decoded, readQuestion, returned, wordIn } from './call.ts'
import type { CoinContract } from './coin-contract.ts'

const NAME_LIMIT = 64
const SYMBOL_LIMIT = 32
/** The gas that an unknown contract may use for a read; a token behind a proxy needs about 10,000. */
const READ_GAS_LIMIT = 2_000_000n
/** EIP-20: decimals is a uint8. */
const DECIMALS_LIMIT = 255n

const ABI = parseAbi([
  'function supportsInterface(bytes4 interfaceID) view returns (bool)',
  'function name() view returns (string)',
  'function symbol() view returns (string)',
  'function decimals() view returns (uint8)',
  'function totalSupply() view returns (uint256)',
  'function balanceOf(address owner) view returns (uint256)',
  'function allowance(address owner, address spender) view returns (uint256)',
])

const supports = (interfaceId: Hex): Hex =>
  encodeFunctionData({ abi: ABI, functionName: 'supportsInterface', args: [interfaceId] })

/**
 * Interface ids of EIP-721 and EIP-1155. EIP-165 requires false for 0xffffffff: a contract that always says true fails.
 */
const READS = {
  supportsErc721: supports('0x80ac58cd'),
  supportsErc1155: supports('0xd9b67a26'),
  supportsNonsense: supports('0xffffffff'),
  name: encodeFunctionData({ abi: ABI, functionName: 'name' }),
  symbol: encodeFunctionData({ abi: ABI, functionName: 'symbol' }),
  decimals: encodeFunctionData({ abi: ABI, functionName: 'decimals' }),
  totalSupply: encodeFunctionData({ abi: ABI, functionName: 'totalSupply' }),
  balanceOf: encodeFunctionData({ abi: ABI, functionName: 'balanceOf', args: [ZERO_ADDRESS] }),
  allowance: encodeFunctionData({ abi: ABI, functionName: 'allowance', args: [ZERO_ADDRESS, ZERO_ADDRESS] }),
} as const satisfies Record<string, Hex>

type Read = keyof typeof READS
const READ_NAMES = Object.keys(READS).filter((name): name is Read => name in READS)

/** The text of a string, or of the bytes32 that early tokens return; empty for anything else. Pure. */
export const textIn = (data: Hex | null, limit: number): string => {
  if (data === null) return ''
  if (data.length === 66) {
    const characters = Buffer.from(data.slice(2), 'hex')
    const end = characters.indexOf(0)
    return cleanText(characters.subarray(0, end === -1 ? undefined : end).toString('utf8'), limit)
  }
  return cleanText(decoded(data, (text) => decodeAbiParameters([{ type: 'string' }], text)[0]) ?? '', limit)
}

/** What a contract returned for a read; null if the read failed. */
type Reads = (name: Read) => Hex | null

const detectStandard = (reads: Reads): AssetStandard => {
  const isYes = (name: Read): boolean => wordIn(reads(name)) === 1n
  if (isYes('supportsNonsense')) return 'other'
  if (isYes('supportsErc721')) return 'erc721'
  if (isYes('supportsErc1155')) return 'erc1155'
  // EIP-20 has no interface id: it is recognised by three required functions (an ERC-721 has no allowance).
  const required = ['totalSupply', 'balanceOf', 'allowance'] as const
  return required.every((name) => wordIn(reads(name)) !== null) ? 'erc20' : 'other'
}

const parseFacts = (reads: Reads): AddressFacts => {
  const decimals = wordIn(reads('decimals'))
  return {
    isContract: true,
    standard: detectStandard(reads),
    name: textIn(reads('name'), NAME_LIMIT),
    symbol: textIn(reads('symbol'), SYMBOL_LIMIT),
    // Debts and points that refuse `allowance` are no ERC-20, and their amounts still have decimals.
    decimals: decimals !== null && decimals <= DECIMALS_LIMIT ? Number(decimals) : null,
  }
}

type Context = {
  readonly pool: Pick<NodePool, 'certain' | 'hasSeveral' | 'peers'>
  readonly memory: ChainMemory
  readonly network: Network
  readonly believed: Believed
}

/** EIP-7702: the code of an account that delegates is 0xef0100 and an address; the account is not a contract. */
const isContractCode = (code: Hex): boolean => code !== '0x' && !code.startsWith('0xef0100')

const readContracts = async (rpc: Rpc, contracts: readonly string[]): Promise<FactsByAddress> => {
  const questions = contracts.flatMap((to) =>
    READ_NAMES.map((name) => readQuestion({ to, data: READS[name], gasLimit: READ_GAS_LIMIT })),
  )
  const answers = await rpc.tryAll(questions)
  const results = answers.map((answer) => returned(rpc, answer))
  return new Map(
    contracts.map((address, at) => {
      const reads: Reads = (name) => results[at * READ_NAMES.length + READ_NAMES.indexOf(name)] ?? null
      return [address, parseFacts(reads)]
    }),
  )
}

const readExisting = async (rpc: Rpc, addresses: readonly string[]): Promise<FactsByAddress> => {
  const codes = await rpc.askAll(addresses.map((address) => question('eth_getCode', [address, 'latest'], bytes)))
  const contracts = addresses.filter((_, index) => isContractCode(codes[index] ?? '0x'))
  return readContracts(rpc, contracts)
}

export const readAddressFacts = async (
  { pool, ...context }: Context,
  addresses: readonly string[],
): Promise<FactsByAddress> => {
  const readBy = (rpc: Rpc) => (unsure: readonly string[]) => readExisting(rpc, unsure)
  const peers = () => (pool.hasSeveral ? pool.peers().map(readBy) : null)
  return rememberedFacts(context, { asked: addresses, read: readBy(pool.certain), peers })
}

// The balances of an address. All are read at one fixed block, so that a coin that moves between two answers is not
// counted twice. Tokens are untrusted code: each read has a gas limit, and a token that fails is left out.

/** A rebasing token behind a proxy needs some 100,000. */
const BALANCE_GAS_LIMIT = 1_000_000n

export const readBalances = async (
  { rpc, coinContract }: { readonly rpc: Rpc; readonly coinContract: CoinContract },
  input: { readonly address: string; readonly contracts: readonly string[] },
): Promise<Balances> => {
  const { address } = input
  // It answers with the balance of the coin.
  const ofCoin = coinContract?.address.toLowerCase()
  const contracts = input.contracts.filter((contract) => contract.toLowerCase() !== ofCoin)
  const blockNumber = await rpc.ask(question('eth_blockNumber', [], quantity))
  const data = encodeFunctionData({ abi: ABI, functionName: 'balanceOf', args: [hexText(address)] })
  const [coin, ...answers] = await rpc.tryAll([
    question('eth_getBalance', [address, toQuantity(blockNumber)], quantity),
    ...contracts.map((to) => readQuestion({ to, data, gasLimit: BALANCE_GAS_LIMIT, blockNumber })),
  ])
  const tokens = new Map<string, bigint>()
  for (const [index, contract] of contracts.entries()) {
    const answer = answers[index]
    const balance = answer === undefined ? null : wordIn(returned(rpc, answer))
    if (balance !== null && balance > 0n) tokens.set(contract, balance)
  }
  return { coin: rpc.need(coin), tokens }
}
