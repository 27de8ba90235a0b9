// What the vault reads in a call of a Safe, held against the EVM: random calls, many of them spoilt, are run by a node
// on the deployed contracts. Whatever the Safe then executes, the vault has read exactly that, or has refused to sign
// it. Another seed: STRONGROOM_SEED.

import { expect, test } from 'bun:test'
import { type Address, encodeFunctionData, type Hex, hexToBytes, parseAbi, parseEther } from 'viem'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import type { Intent } from '../../src/chains/chain.ts'
import { execution } from '../../src/chains/evm/safe/execution.ts'
import { deployment, deriveContractWallet, SAFE_ADDRESSES } from '../../src/chains/evm/safe/settings.ts'
import type { Call } from '../../src/vault/language/call-rules.ts'
import { callsExecuted, safeOf } from '../../src/vault/rooms/keys/safe.ts'
import { type Random, randomOf } from '../policies/oracle/random.ts'
import { fundedAccount, startChain } from '../support/chains.ts'
import { isLong } from '../support/long.ts'
import { shared } from '../support/shared.ts'

const SEED = Number(process.env.STRONGROOM_SEED ?? 20_261_124)
const CASES = isLong ? 200_000 : 150
/** At least so many cases are executed and read, and at least so many are spoilt and still executed. */
const SHARE_PERCENT = 10
const GAS: Hex = '0x1c9c380'

const owner = fundedAccount(4)
const wallet = deriveContractWallet(owner.address)
const safe = safeOf(hexToBytes(owner.publicKey))
const EXEC = parseAbi([
  'function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures)',
])

const chain = await shared(startChain('Ethereum'))
await deployCanonicalContracts(chain.rpcUrl)
const { to, input } = deployment(wallet)
await chain.send({ to: to as Address, data: input })
await chain.fund(wallet.address as Address, parseEther('1000'))

type Frame = {
  readonly type: string
  readonly from: Hex
  readonly to?: Hex
  readonly value?: Hex
  readonly input: Hex
  readonly error?: string
  readonly calls?: readonly Frame[]
}

/** The calls that the Safe makes itself, by its own code or by code that it runs as its own. */
const madeBy = (frame: Frame): readonly string[] =>
  (frame.calls ?? []).flatMap((inner) => {
    if (inner.type === 'DELEGATECALL') return madeBy(inner)
    if (inner.type === 'STATICCALL') return []
    return inner.from === `0x${safe}`
      ? [`${inner.type} ${inner.to} ${BigInt(inner.value ?? 0)} ${inner.input}`]
      : [`from ${inner.from}`]
  })

/** With gas of its own for the calls (`safeTxGas`), a Safe goes on after they were undone. */
const isUndone = ({ error, calls = [] }: Frame): boolean => error !== undefined || calls.some(isUndone)

/** What the Safe does; null if it undoes everything. */
const executedBy = async (data: Hex): Promise<readonly string[] | null> => {
  const call = { from: owner.address, to: wallet.address, data, gas: GAS }
  const frame = (await chain.rpc('debug_traceCall', [call, 'latest', { tracer: 'callTracer' }])) as Frame
  return isUndone(frame) ? null : madeBy(frame)
}

/** What the vault reads; null if it refuses. */
const readBy = (data: Hex): readonly string[] | null => {
  let calls: readonly Call[]
  try {
    calls = callsExecuted(safe, hexToBytes(data))
  } catch {
    return null
  }
  return calls.map((each) => `CALL 0x${each.to} ${each.value} 0x${Buffer.from(each.data).toString('hex')}`)
}

/** Calls of contracts with bytes that they do not know would undo everything. */
const addressOf = (random: Random): Hex =>
  random.isLikely(10)
    ? random.one<Hex>([wallet.address as Hex, SAFE_ADDRESSES.multiSendCallOnly])
    : random.one<Hex>([`0x${random.bytes(20).toString('hex')}`, owner.address])

const intentOf = (random: Random): Intent => ({
  to: addressOf(random),
  value: BigInt(random.below(1_000)),
  input: `0x${random.bytes(random.one([0, 0, 3, 4, 36, 68])).toString('hex')}`,
})

/** As the service makes it, or with arguments that it never uses. */
const callDataOf = (random: Random): Hex => {
  const intents = Array.from({ length: 1 + random.below(4) }, () => intentOf(random))
  const whole = execution(wallet, intents).input
  if (random.isLikely(75)) return whole
  const signatures = `0x${owner.address.slice(2).padStart(64, '0')}${'0'.repeat(64)}01` as Hex
  const { to, value, input } = intentOf(random)
  const [operation, gasPrice] = [random.below(3), BigInt(random.below(2))]
  const zero = `0x${'0'.repeat(40)}` as Hex
  const args = [to as Hex, value, input, operation, 0n, 0n, gasPrice, zero, zero, signatures] as const
  return encodeFunctionData({ abi: EXEC, args })
}

/** Other bytes, often ones that decide: heads, offsets, lengths, and the upper bits of addresses. */
const spoilt = (random: Random, data: Hex): Hex => {
  const bytes = Buffer.from(data.slice(2), 'hex')
  const kind = random.below(4)
  if (kind === 0) return `0x${Buffer.concat([bytes, random.bytes(1 + random.below(40))]).toString('hex')}`
  if (kind === 1) return `0x${bytes.subarray(0, bytes.length - 1 - random.below(40)).toString('hex')}`
  const at =
    kind === 2 ? 4 + 32 * random.below(20) + random.one([0, 5, 11, 12, 29, 30, 31]) : random.below(bytes.length)
  if (at < bytes.length) bytes[at] = random.one([0, 1, 2, 32, 64, 255, random.below(256)])
  return `0x${bytes.toString('hex')}`
}

test('the vault reads exactly what a Safe executes, or refuses it', async () => {
  let [agreed, ofSpoilt, refused, undone] = [0, 0, 0, 0]
  for (let index = 0; index < CASES; index += 1) {
    const random = randomOf(SEED + index)
    const isSpoilt = random.isLikely(60)
    const data = isSpoilt ? spoilt(random, callDataOf(random)) : callDataOf(random)
    const [executed, read] = [await executedBy(data), readBy(data)]
    if (executed === null) undone += 1
    else if (read === null) refused += 1
    else {
      if (executed.join() !== read.join())
        throw new Error(
          `STRONGROOM_SEED=${SEED}, case ${index}: ${data}\n${executed.join('\n')}\nread:\n${read.join('\n')}`,
        )
      agreed += 1
      if (isSpoilt) ofSpoilt += 1
    }
  }
  console.log(
    `STRONGROOM_SEED=${SEED}: of ${CASES} calls ${agreed} were executed and read alike, ${ofSpoilt} of them spoilt; ${refused} were executed and refused, ${undone} undone.`,
  )
  expect(100 * agreed).toBeGreaterThan(SHARE_PERCENT * CASES)
  expect(100 * ofSpoilt).toBeGreaterThan(SHARE_PERCENT * CASES)
}, 600_000)
