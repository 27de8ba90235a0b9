// How a collection mints is found by trying: each function that collections are known to mint with is simulated alone, and
// the first that succeeds and emits the mint (a transfer from zero to the recipient, by that contract) is taken.
// Where none does, the same functions are tried with more money than any mint costs, to tell what a payment would change.

import { randomBytes } from 'node:crypto'
import { encodeFunctionData, keccak256, parseAbi, stringToHex } from 'viem'
import type { Network } from '../../../db/words.ts'
import { AppError } from '../../errors.ts'
import type { ChainMemory, Hex, Intent, MintRequest } from '../chain.ts'
import { type Answer, NodeUnavailable, question, type Rpc } from '../node/rpc.ts'
import { bytes, hexText } from '../node/wire.ts'
import { ZERO_ADDRESS } from './address.ts'
import { type Call, transactionObject } from './call.ts'
import { describeFailures, type Failed, failedBy, failedIn } from './failures.ts'
import type { SimulationLimits } from './limits.ts'
import { transfersOf } from './logs.ts'
import { mintRefusal } from './mint-refusal.ts'
import { isExecutionFailure, isMethodMissing } from './node-errors.ts'
import { type Overrides, overridesObject, type SimulatedCall, simulateQuestion } from './simulate.ts'

const ABI = parseAbi([
  'function safeMint(address to, string uri)',
  'function mint(address to, string uri)',
  'function mintTo(address to, string uri)',
  'function mintNFT(address recipient, string tokenURI)',
  'function awardItem(address player, string tokenURI)',
  'function mintTo(address to, uint256 tokenId, string uri, uint256 amount)',
  'function safeMint(address to)',
  'function mint(address to)',
  'function mintTo(address to)',
  'function mint(address to, uint256 id, uint256 value, bytes data)',
  'function safeMint(address to, uint256 tokenId, string uri)',
  // No collection has this one: a contract that takes it takes anything, and proves nothing by it.
  'function strongroomProbe(address to, string uri)',
])

/** thirdweb's TokenERC1155: this id asks for a new token. */
const NEW_TOKEN_ID = 2n ** 256n - 1n

/** More than any mint costs: a million coins. */
const AMPLE_VALUE = 10n ** 24n

type Candidate = { readonly name: string; readonly input: Hex }

/**
 * Those that take the URI come first; an ERC-1155 id is the digest of the URI, so that one URI is one token. An ERC-721
 * that wants an id beside the URI gets a random one, which no other mint under way can have. One that wants an id and no
 * URI (`safeMint(address,uint256)`) is not tried: the id then says what the token is, and only its owner knows that.
 */
const candidates = ({ recipient, uri }: MintRequest): readonly Candidate[] => {
  const to = hexText(recipient)
  const id = BigInt(keccak256(stringToHex(uri)))
  const freshId = BigInt(`0x${randomBytes(16).toString('hex')}`)
  return [
    {
      name: 'safeMint(address,string)',
      input: encodeFunctionData({ abi: ABI, functionName: 'safeMint', args: [to, uri] }),
    },
    { name: 'mint(address,string)', input: encodeFunctionData({ abi: ABI, functionName: 'mint', args: [to, uri] }) },
    {
      name: 'mintTo(address,string)',
      input: encodeFunctionData({ abi: ABI, functionName: 'mintTo', args: [to, uri] }),
    },
    {
      name: 'mintNFT(address,string)',
      input: encodeFunctionData({ abi: ABI, functionName: 'mintNFT', args: [to, uri] }),
    },
    {
      name: 'awardItem(address,string)',
      input: encodeFunctionData({ abi: ABI, functionName: 'awardItem', args: [to, uri] }),
    },
    {
      name: 'safeMint(address,uint256,string)',
      input: encodeFunctionData({ abi: ABI, functionName: 'safeMint', args: [to, freshId, uri] }),
    },
    {
      name: 'mintTo(address,uint256,string,uint256)',
      input: encodeFunctionData({ abi: ABI, functionName: 'mintTo', args: [to, NEW_TOKEN_ID, uri, 1n] }),
    },
    { name: 'safeMint(address)', input: encodeFunctionData({ abi: ABI, functionName: 'safeMint', args: [to] }) },
    { name: 'mint(address)', input: encodeFunctionData({ abi: ABI, functionName: 'mint', args: [to] }) },
    { name: 'mintTo(address)', input: encodeFunctionData({ abi: ABI, functionName: 'mintTo', args: [to] }) },
    {
      name: 'mint(address,uint256,uint256,bytes)',
      input: encodeFunctionData({ abi: ABI, functionName: 'mint', args: [to, id, 1n, '0x'] }),
    },
  ]
}

type Context = {
  readonly rpc: Rpc
  readonly limits: SimulationLimits
  readonly memory: Pick<ChainMemory, 'readAbiItems'>
  readonly network: Network
}

/** `minted` is whether the candidate may be taken. */
type Trial = { readonly failed: Failed | null; readonly minted: boolean }

/** A coin's Transfer from zero is no NFT. */
const mints = (logs: SimulatedCall['logs'], { contract, recipient }: MintRequest): boolean =>
  logs
    .filter(({ address }) => address === contract.toLowerCase())
    .flatMap(transfersOf)
    .some(
      ({ standard, from, to, amount }) =>
        (standard === 'erc721' || standard === 'erc1155') &&
        from === ZERO_ADDRESS &&
        to === recipient.toLowerCase() &&
        amount > 0n,
    )

/** A sender that can pay what is tried. */
const purseOf = (from: string, { value }: Call): Overrides => (value === 0n ? {} : { [from]: { balance: 2n * value } })

/** Independent simulations in one batch; null where the node cannot simulate. */
const simulateTrials = async (
  rpc: Rpc,
  request: MintRequest,
  calls: readonly Call[],
): Promise<readonly Trial[] | null> => {
  const answers: readonly Answer<readonly SimulatedCall[]>[] = await rpc.tryAll(
    calls.map((call) => simulateQuestion(request.from, [{ overrides: purseOf(request.from, call), calls: [call] }])),
  )
  if (answers.some((answer) => !answer.ok && isMethodMissing(answer.error))) return null
  return answers.map((answer) => {
    if (!answer.ok && !isExecutionFailure(answer.error)) throw rpc.refusal(answer.error)
    if (!answer.ok) return { failed: failedBy(answer.error), minted: false }
    const [call] = answer.value
    if (call === undefined) return { failed: null, minted: false }
    return { failed: failedIn(call), minted: call.failure === null && mints(call.logs, request) }
  })
}

/** Without logs, a call that succeeds counts, unless the contract takes calls that mean nothing as well. */
const callTrials = async (rpc: Rpc, request: MintRequest, calls: readonly Call[]): Promise<readonly Trial[]> => {
  const { from } = request
  const probe = encodeFunctionData({
    abi: ABI,
    functionName: 'strongroomProbe',
    args: [hexText(request.recipient), request.uri],
  })
  const all: readonly Call[] = [...calls, { to: request.contract, value: calls[0]?.value ?? 0n, input: probe }]
  const answers = await rpc.tryAll(
    all.map((call) => {
      const overrides = call.value === 0n ? [] : [overridesObject(purseOf(from, call))]
      return question('eth_call', [transactionObject(from, call), 'latest', ...overrides], bytes)
    }),
  )
  const takesAnything = answers.at(-1)?.ok === true
  return answers.slice(0, calls.length).map((answer) => {
    if (!answer.ok && !isExecutionFailure(answer.error)) throw rpc.refusal(answer.error)
    return answer.ok ? { failed: null, minted: !takesAnything } : { failed: failedBy(answer.error), minted: false }
  })
}

const tryAll = async (
  { rpc, limits }: Context,
  request: MintRequest,
  calls: readonly Call[],
): Promise<readonly Trial[]> => {
  const simulated = limits.lacks('simulation') ? null : await simulateTrials(rpc, request, calls)
  if (simulated === null) limits.learn('simulation')
  return simulated ?? (await callTrials(rpc, request, calls))
}

/** The same with money; none where the node cannot suppose any. */
const tryPaid = async (context: Context, request: MintRequest, calls: readonly Call[]): Promise<readonly Trial[]> => {
  try {
    return await tryAll(
      context,
      request,
      calls.map((call) => ({ ...call, value: AMPLE_VALUE })),
    )
  } catch (error) {
    if (error instanceof NodeUnavailable && error.trouble === 'refused') return []
    throw error
  }
}

export const mintIntent = async (context: Context, request: MintRequest): Promise<Intent> => {
  const { contract } = request
  const code = await context.rpc.ask(question('eth_getCode', [contract, 'latest'], bytes))
  if (code === '0x') throw new AppError('mint_unsupported', 'There is no contract at contract_address.')
  const tried = candidates(request)
  const calls = tried.map(({ input }) => ({ to: contract, value: 0n, input }))
  const free = await tryAll(context, request, calls)
  const taken = calls[free.findIndex(({ minted }) => minted)]
  if (taken !== undefined) return taken
  const paidIndex = (await tryPaid(context, request, calls)).findIndex(({ minted }) => minted)
  const failures = await describeFailures(
    context,
    free.map(({ failed }) => ({ to: contract, failed })),
  )
  const signature = tried[paidIndex]?.name
  throw mintRefusal(
    failures.filter((failure) => failure !== null),
    signature === undefined ? null : { signature, failure: failures[paidIndex] ?? null },
  )
}
