// Finds out how a collection mints: each known mint function is simulated alone. The first one that succeeds and emits the
// mint (a transfer from the zero address to the recipient, by that contract) is used. If none does, the functions are
// simulated again with a large payment, so that the error can say whether a payment would help.

import { randomBytes } from 'node:crypto'
import { encodeFunctionData, keccak256, parseAbiItem, stringToHex } from 'viem'
import { AppError } from '../../errors.ts'
import type { Hex, Intent, MintRequest } from '../chain.ts'
import { type Answer, NodeUnavailable, question, type Rpc } from '../node/rpc.ts'
import { bytes } from '../node/wire.ts'
import { ZERO_ADDRESS } from './address.ts'
import { type Call, transactionObject } from './call.ts'
import { describeFailures, type Failed, failedBy, failedIn } from './failures.ts'
import type { NodeContext } from './limits.ts'
import { transfersOf } from './logs.ts'
import { mintRefusal } from './mint-refusal.ts'
import { isExecutionFailure, isMethodMissing } from './node-errors.ts'
import { type Overrides, overridesObject, type SimulatedCall, simulateQuestion } from './simulate.ts'

/** thirdweb's TokenERC1155: this id creates a new token. */
const NEW_TOKEN_ID = 2n ** 256n - 1n

/** A million coins: more than any mint costs. */
const AMPLE_VALUE = 10n ** 24n

type Candidate = { readonly name: string; readonly input: Hex }

const encode = (name: string, args: readonly unknown[]): Hex =>
  encodeFunctionData({ abi: [parseAbiItem(`function ${name}`)], args })

/**
 * Functions that take the URI come first. The id of an ERC-1155 token is the digest of the URI, so that one URI is one token.
 * For an ERC-721 function that takes an id and a URI, the id is random, so that no other mint has it. `safeMint(address,
 * uint256)` is not tried: there the id says what the token is, and only the collection's owner knows that.
 */
const candidates = ({ recipient, uri }: MintRequest): readonly Candidate[] => {
  const id = BigInt(keccak256(stringToHex(uri)))
  const randomId = BigInt(`0x${randomBytes(16).toString('hex')}`)
  const functions: readonly (readonly [name: string, args: readonly unknown[]])[] = [
    ['safeMint(address,string)', [recipient, uri]],
    ['mint(address,string)', [recipient, uri]],
    ['mintTo(address,string)', [recipient, uri]],
    ['mintNFT(address,string)', [recipient, uri]],
    ['awardItem(address,string)', [recipient, uri]],
    ['safeMint(address,uint256,string)', [recipient, randomId, uri]],
    ['mintTo(address,uint256,string,uint256)', [recipient, NEW_TOKEN_ID, uri, 1n]],
    ['safeMint(address)', [recipient]],
    ['mint(address)', [recipient]],
    ['mintTo(address)', [recipient]],
    ['mint(address,uint256,uint256,bytes)', [recipient, id, 1n, '0x']],
  ]
  return functions.map(([name, args]) => ({ name, input: encode(name, args) }))
}

/** The result of one simulation. `minted`: the function can be used. */
type Trial = { readonly failed: Failed | null; readonly minted: boolean }

/** Whether the contract minted an NFT to the recipient; a transfer of a fungible token does not count. */
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

/** Gives the sender a balance for the payment. */
const balanceFor = (from: string, { value }: Call): Overrides =>
  value === 0n ? {} : { [from]: { balance: 2n * value } }

/** Simulates the calls independently, in one batch; null if the node cannot simulate. */
const simulateTrials = async (
  rpc: Rpc,
  request: MintRequest,
  calls: readonly Call[],
): Promise<readonly Trial[] | null> => {
  const answers: readonly Answer<readonly SimulatedCall[]>[] = await rpc.tryAll(
    calls.map((call) => simulateQuestion(request.from, [{ overrides: balanceFor(request.from, call), calls: [call] }])),
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

/** eth_call returns no logs, so a call that succeeds counts, unless the contract also accepts a function that nobody has. */
const callTrials = async (rpc: Rpc, request: MintRequest, calls: readonly Call[]): Promise<readonly Trial[]> => {
  const { from } = request
  const probe = encode('strongroomProbe(address,string)', [request.recipient, request.uri])
  const all: readonly Call[] = [...calls, { to: request.contract, value: calls[0]?.value ?? 0n, input: probe }]
  const answers = await rpc.tryAll(
    all.map((call) => {
      const overrides = call.value === 0n ? [] : [overridesObject(balanceFor(from, call))]
      return question('eth_call', [transactionObject(from, call), 'latest', ...overrides], bytes)
    }),
  )
  const acceptsAnything = answers.at(-1)?.ok === true
  return answers.slice(0, calls.length).map((answer) => {
    if (!answer.ok && !isExecutionFailure(answer.error)) throw rpc.refusal(answer.error)
    return answer.ok ? { failed: null, minted: !acceptsAnything } : { failed: failedBy(answer.error), minted: false }
  })
}

const tryAll = async (
  { rpc, limits }: NodeContext,
  request: MintRequest,
  calls: readonly Call[],
): Promise<readonly Trial[]> => {
  const simulated = limits.lacks('simulation') ? null : await simulateTrials(rpc, request, calls)
  if (simulated === null) limits.learn('simulation')
  return simulated ?? (await callTrials(rpc, request, calls))
}

/** Tries the calls with a payment. Empty if the node cannot simulate with another balance. */
const tryPaid = async (
  context: NodeContext,
  request: MintRequest,
  calls: readonly Call[],
): Promise<readonly Trial[]> => {
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

export const mintIntent = async (context: NodeContext, request: MintRequest): Promise<Intent> => {
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
