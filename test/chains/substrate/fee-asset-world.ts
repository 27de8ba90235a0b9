// An asset that fees can be paid in, with a pool that changes it for coins.

import type { Intent } from '../../../src/chains/chain.ts'
import { existentialDeposit } from '../../../src/chains/substrate/account.ts'
import { bytesToSign } from '../../../src/vault/rooms/keys/payloads.ts'
import { devAccount } from '../../support/substrate.ts'
import { type Account, own, people } from './collections.ts'
import type { SpecChain } from './specs.ts'

export const UNIT = 10n ** 10n
export const USDT = 'asset:1984'
/** With a million pieces of 6 decimals, and a least balance of 0.01. */
const [SUPPLY, LEAST] = [10n ** 12n, 10_000n]

export const usdtLocation = { parents: 0, interior: { X2: [{ PalletInstance: 50 }, { GeneralIndex: 1984 }] } }
export const coinLocation = { parents: 1, interior: 'Here' }

/** Alice has the asset; in its pool are 1,000 coins and 4,000 of it. Assets 7 and 8 have none. */
export const withFeeAsset = async (on: SpecChain) => {
  const { alice, hers, his } = await people()
  await on.local.fund(hers, 10_000n * UNIT)
  await on.local.fund(his, 10_000n * UNIT)
  // Charlie has some of the asset and no coin to spend, Dave coins alone.
  const [charlie, dave] = [await devAccount('Charlie'), await devAccount('Dave')]
  await on.local.fund(own(charlie), existentialDeposit(on.runtime))
  await on.local.fund(own(dave), 10n * UNIT)
  await on.local.newBlock()
  const done = await on.sendAll(
    [
      on.call('assets', 'create', 1984, hers, LEAST),
      on.call('assets', 'setMetadata', 1984, 'Tether USD', 'USDT', 6),
      on.call('assets', 'mint', 1984, hers, SUPPLY),
      on.call('assets', 'transfer', 1984, own(charlie), 10n ** 6n),
      on.call('assets', 'create', 7, hers, 1),
      on.call('assets', 'create', 8, hers, 1),
      on.call('assets', 'mint', 8, hers, SUPPLY),
      on.call('assetConversion', 'createPool', coinLocation, usdtLocation),
      on.call(
        'assetConversion',
        'addLiquidity',
        coinLocation,
        usdtLocation,
        1_000n * UNIT,
        4_000n * 10n ** 6n,
        1,
        1,
        hers,
      ),
    ],
    alice,
  )
  const failed = done.find(({ status }) => !status.success)
  if (failed !== undefined) throw new Error(`the asset or its pool was not made: ${failed.status.reason}`)

  const held = async (address: string) => {
    const { coin, tokens } = await on.chain.balances({ address, contracts: [USDT] })
    return { coin, asset: tokens.get(USDT) ?? 0n }
  }
  const prepare = (intent: Intent, by: Account) => on.chain.prepare(intent, own(by), { pending: async () => [] })

  /** Sends without judging whether it would do. @returns how it ended, and what was told of its block */
  const send = async (intent: Intent, by: Account) => {
    const { pendingCount } = await on.chain.transactionCounts(own(by))
    const unsigned = await on.chain.fill(intent, own(by), { nonce: pendingCount })
    const { raw, hash } = on.chain.assemble(unsigned, by.sign(bytesToSign('substrate', on.chain.payloadOf(unsigned))))
    const outcome = await on.chain.broadcast(raw)
    if (outcome.kind !== 'accepted') throw new Error(`the chain did not take it: ${JSON.stringify(outcome)}`)
    const { hash: blockHash, number } = await on.local.included(raw)
    const [status] = await on.chain.statuses([{ hash, blockHash: blockHash as `0x${string}` }])
    const [block] = (await on.chain.movements({ fromBlock: BigInt(number), toBlock: BigInt(number) })) ?? []
    const moved = block?.movements.filter(({ from, to }) => [from, to].includes(own(by))) ?? []
    return { status, moved: moved.map(({ contract, from, to, amount }) => ({ contract, from, to, amount })) }
  }
  return { hers, his, alice, charlie, dave, held, prepare, send }
}

/** The code and the sentence of a refusal; null where it is not refused. */
export const refusalOf = (asked: Promise<unknown>): Promise<readonly [string, string] | null> =>
  asked.then(
    () => null,
    ({ code, message }: { readonly code: string; readonly message: string }) => [code, message] as const,
  )
