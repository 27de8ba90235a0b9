// Tokens as assets of Paseo's test Asset Hub of 2025, which runs calls in advance.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Intent, RecordedIntent } from '../../../src/chains/chain.ts'
import { provided } from '../../../src/chains/provided.ts'
import { toHex } from '../../../src/chains/substrate/scale.ts'
import { storageKey } from '../../../src/chains/substrate/storage.ts'
import { ABOUT, collectionsOf, own, people, sendOn } from './collections.ts'
import { lacksSpecs, type SpecChain, startSpec } from './specs.ts'

const UNIT = 10n ** 10n
const NEW = own({ publicKey: new Uint8Array(32).fill(7) })

describe.skipIf(lacksSpecs('assets on an Asset Hub that runs calls in advance', 'hub'))('assets', () => {
  let hub: SpecChain
  let [hers, his] = ['', '']

  beforeAll(async () => {
    hub = await startSpec('hub')
    ;({ hers, his } = await people())
    for (const account of [hers, his, NEW]) await hub.local.fund(account, 10_000n * UNIT)
    await hub.local.newBlock()
  }, 60_000)
  afterAll(() => hub?.local.stop())

  const tokens = () => provided(hub.chain.tokens, 'The chain has no tokens.')
  const creation = async (pending: readonly RecordedIntent[] = []) =>
    tokens().creation({
      name: 'Points',
      symbol: 'PNT',
      decimals: 6,
      initialSupply: 1_000n,
      owner: hers,
      pending: async () => pending,
    })
  const sent = async (intent: Intent) => {
    const { alice } = await people()
    const { status } = await sendOn(hub.chain, { intent, by: alice })
    expect(status).toMatchObject({ success: true })
    return status.contractAddress ?? ''
  }

  test('one is created, minted, and sent to several accounts in one batch', async () => {
    const contract = await sent(await creation())
    expect((await hub.chain.facts([contract])).get(contract)).toMatchObject({ standard: 'erc20', decimals: 6 })
    await sent(await tokens().mint({ contract, from: hers, recipient: his, amount: 5n }))
    await expect(tokens().mint({ contract, from: his, recipient: his, amount: 5n })).rejects.toMatchObject({
      code: 'mint_unauthorized',
    })
    const transfers = [
      { recipient: his, amount: 10n },
      { recipient: NEW, amount: 20n },
    ]
    const [batch, ...others] = await tokens().transfers({ contract, from: hers, transfers, canBatch: false })
    if (batch === undefined || others.length > 0) throw new Error('expected one intent')
    const [preview] = await hub.chain.preview(hers, [batch])
    expect(preview?.changes).toMatchObject([
      { contract, from: hers, to: his, amount: 10n },
      { contract, from: hers, to: NEW, amount: 20n },
    ])
    await sent(batch)
    const held = async (address: string) =>
      (await hub.chain.balances({ address, contracts: [contract] })).tokens.get(contract)
    expect([await held(hers), await held(his), await held(NEW)]).toEqual([970n, 15n, 20n])
  }, 60_000)

  test('more than the account has is refused before it is sent', async () => {
    const contract = await sent(await creation())
    const transfers = [{ recipient: his, amount: 1_001n }]
    const [intent] = await tokens().transfers({ contract, from: hers, transfers, canBatch: false })
    if (intent === undefined) throw new Error('expected an intent')
    const prepared = hub.chain.prepare(intent, hers, { pending: async () => [] })
    await expect(prepared).rejects.toMatchObject({ code: 'execution_reverted' })
  }, 60_000)

  test('where the runtime numbers them, they have its next numbers, after pending ones', async () => {
    const key = storageKey(hub.runtime, 'assets', 'nextAssetId')
    await hub.local.rpc('dev_setStorage', [[[key, toHex(Uint8Array.of(50, 0, 0, 0))]]])
    await hub.local.newBlock()
    const one = await creation()
    const two = await creation([{ ...one, from: hers, nonce: 0 }])
    expect([await sent(one), await sent(two)]).toEqual(['asset:50', 'asset:51'])
    await hub.local.rpc('dev_setStorage', [[[key, null]]])
    await hub.local.newBlock()
  }, 60_000)

  test('an item of a soulbound collection of pallet Nfts cannot be moved', async () => {
    const asked = { name: 'Doors', symbol: 'DOOR', baseUri: '', contractUri: ABOUT, owner: hers, isSoulbound: true }
    const contract = await sent(await collectionsOf(hub.chain).creation(asked))
    await sent(await hub.chain.mintIntent({ contract, from: hers, recipient: his, uri: '' }))
    const moved = await hub.chain.transferNftIntent({ contract, from: his, recipient: hers, tokenId: 0n, amount: 1n })
    const [preview] = await hub.chain.preview(his, [moved])
    expect(preview?.error).toBe('execution reverted: Nfts.ItemsNonTransferable')
  }, 60_000)

  test('a foreign asset is not sent by this call', async () => {
    const transfers = [{ recipient: his, amount: 1n }]
    const asked = tokens().transfers({ contract: 'foreign:0x02010903', from: hers, transfers, canBatch: false })
    await expect(asked).rejects.toMatchObject({ code: 'not_implemented' })
  })
})
