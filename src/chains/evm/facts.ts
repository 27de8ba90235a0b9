// Facts about an address. For a contract they are read once and stored. An address without code is read each time, because
// a contract may be created there later. A contract without a name is read again now and then: it may be an unset proxy.

import { decodeAbiParameters, encodeFunctionData, parseAbi } from 'viem'
import type { AssetStandard, Network } from '../../../db/words.ts'
import type { AddressFacts, ChainMemory, Hex } from '../chain.ts'
import { type Answer, question, type Rpc } from '../node/rpc.ts'
import { bytes } from '../node/wire.ts'
import { type Facts, rememberedFacts } from '../remembered.ts'
import { cleanText } from '../text.ts'
import { ZERO_ADDRESS } from './address.ts'
import { readQuestion } from './call.ts'
import { isExecutionFailure } from './node-errors.ts'

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

/** Interface ids of EIP-721 and EIP-1155. EIP-165 requires false for 0xffffffff; contracts that always answer true fail it. */
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

/** null if the call failed in the contract. If the node refused to run it, nothing is known of the contract, so this throws. */
const returned = (rpc: Rpc, answer: Answer<Hex>): Hex | null => {
  if (answer.ok) return answer.value
  if (isExecutionFailure(answer.error)) return null
  throw rpc.refusal(answer.error)
}

const wordIn = (data: Hex | null): bigint | null => (data?.length === 66 ? BigInt(data) : null)

/** The text of a string, or of the bytes32 that early tokens return; empty for anything else. Pure. */
export const textIn = (data: Hex | null, limit: number): string => {
  if (data === null) return ''
  if (data.length === 66) {
    const characters = Buffer.from(data.slice(2), 'hex')
    const end = characters.indexOf(0)
    return cleanText(characters.subarray(0, end === -1 ? undefined : end).toString('utf8'), limit)
  }
  try {
    return cleanText(decodeAbiParameters([{ type: 'string' }], data)[0], limit)
  } catch {
    return ''
  }
}

const standardOf = (reads: Readonly<Record<Read, Hex | null>>): AssetStandard => {
  if (wordIn(reads.supportsNonsense) === 1n) return 'other'
  if (wordIn(reads.supportsErc721) === 1n) return 'erc721'
  if (wordIn(reads.supportsErc1155) === 1n) return 'erc1155'
  // EIP-20 has no interface id: it is recognised by three required functions (an ERC-721 has no allowance).
  const { totalSupply, balanceOf, allowance } = reads
  return [totalSupply, balanceOf, allowance].every((each) => wordIn(each) !== null) ? 'erc20' : 'other'
}

const factsOf = (reads: Readonly<Record<Read, Hex | null>>): AddressFacts => {
  const standard = standardOf(reads)
  const decimals = wordIn(reads.decimals) ?? 0n
  return {
    isContract: true,
    standard,
    name: textIn(reads.name, NAME_LIMIT),
    symbol: textIn(reads.symbol, SYMBOL_LIMIT),
    decimals: standard === 'erc20' && decimals <= DECIMALS_LIMIT ? Number(decimals) : 0,
  }
}

type Context = { readonly rpc: Rpc; readonly memory: ChainMemory; readonly network: Network }

/** EIP-7702: the code of an account that delegates is 0xef0100 and an address; the account is not a contract. */
const isContractCode = (code: Hex): boolean => code !== '0x' && !code.startsWith('0xef0100')

const readContracts = async (rpc: Rpc, contracts: readonly string[]): Promise<Facts> => {
  const questions = contracts.flatMap((to) =>
    READ_NAMES.map((name) => readQuestion({ to, data: READS[name], gasLimit: READ_GAS_LIMIT })),
  )
  const answers = await rpc.tryAll(questions)
  const results = answers.map((answer) => returned(rpc, answer))
  return new Map(
    contracts.map((address, at) => {
      const resultOf = (name: Read): Hex | null => results[at * READ_NAMES.length + READ_NAMES.indexOf(name)] ?? null
      return [
        address,
        factsOf({
          supportsErc721: resultOf('supportsErc721'),
          supportsErc1155: resultOf('supportsErc1155'),
          supportsNonsense: resultOf('supportsNonsense'),
          name: resultOf('name'),
          symbol: resultOf('symbol'),
          decimals: resultOf('decimals'),
          totalSupply: resultOf('totalSupply'),
          balanceOf: resultOf('balanceOf'),
          allowance: resultOf('allowance'),
        }),
      ]
    }),
  )
}

/** Facts of the addresses with code. */
const readExisting = async (rpc: Rpc, addresses: readonly string[]): Promise<Facts> => {
  const codes = await rpc.askAll(addresses.map((address) => question('eth_getCode', [address, 'latest'], bytes)))
  const contracts = addresses.filter((_, index) => isContractCode(codes[index] ?? '0x'))
  return readContracts(rpc, contracts)
}

/** Facts for each address, from memory first. */
export const readAddressFacts = async ({ rpc, ...context }: Context, addresses: readonly string[]): Promise<Facts> =>
  rememberedFacts(context, { asked: addresses, read: (unsure) => readExisting(rpc, unsure) })
