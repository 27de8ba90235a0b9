// Creates a collection, and mints and moves items, with any pallet for NFTs.

import { expect } from 'bun:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Chain, Intent } from '../../../src/chains/chain.ts'
import { provided } from '../../../src/chains/provided.ts'
import { addressOf } from '../../../src/chains/substrate/address.ts'
import { AppError } from '../../../src/platform/errors.ts'
import { substrateNetworkRow } from '../../../src/platform/networks.ts'
import { bytesToSign } from '../../../src/vault/rooms/keys/payloads.ts'
import { devAccount } from '../../support/substrate.ts'

const row = substrateNetworkRow({ network: 'Polkadot', environment: 'testnet', devnet: true })
export const URI = `https://wallets.example.org/metadata/${'5e'.repeat(32)}.json`
export const ABOUT = `https://wallets.example.org/metadata/${'c0'.repeat(32)}.json`
export type Account = Awaited<ReturnType<typeof devAccount>>
export const own = ({ publicKey }: Pick<Account, 'publicKey'>) => addressOf(row, publicKey)

export const people = async () => {
  const [alice, bob] = [await devAccount('Alice'), await devAccount('Bob')]
  return { alice, bob, hers: own(alice), his: own(bob) }
}

const BLOCKS_WITHIN_MS = 120_000

/** Sends an intent and waits until it is in a final block. */
export const sendOn = async (chain: Chain, { intent, by }: { readonly intent: Intent; readonly by: Account }) => {
  const { unsigned, worstCost } = await chain.prepare(intent, own(by), { pending: async () => [] })
  const { raw, hash } = chain.assemble(unsigned, by.sign(bytesToSign('substrate', chain.payloadOf(unsigned))))
  const before = (await chain.accountState(own(by))).balance
  let { number } = (await chain.head()).latest
  expect(await chain.broadcast(raw)).toEqual({ kind: 'accepted' })
  for (const deadline = Date.now() + BLOCKS_WITHIN_MS; Date.now() < deadline; ) {
    const block = await chain.block(number)
    if (block === null) {
      await sleep(20)
      continue
    }
    number += 1n
    if (!block.transactionHashes.includes(hash)) continue
    const [status] = await chain.statuses([{ hash, blockHash: block.hash }])
    if (status?.kind !== 'mined') throw new Error('expected it in its block')
    return { status, worstCost, spent: before - (await chain.accountState(own(by))).balance }
  }
  throw new Error('no block took it in time')
}

/** Why it failed: in its block, or before it was sent on a runtime with DryRunApi. */
const endOf = async (sent: ReturnType<typeof sendOn>): Promise<string | null> => {
  try {
    return (await sent).status.reason
  } catch (error) {
    if (error instanceof AppError && error.code === 'execution_reverted') {
      return error.message.replace('execution reverted: ', '')
    }
    throw error
  }
}

/** For networks whose collections are created here. */
export const collectionsOf = (chain: Chain) => provided(chain.collections, 'The chain creates no collections.')

/** Creates a collection, mints an item in it, and moves the item to the creator and back. @returns the collection */
export const livesOn = async (chain: Chain): Promise<string> => {
  const { alice, bob, hers, his } = await people()
  const asked = { name: 'Doors', symbol: 'DOOR', baseUri: '', contractUri: ABOUT, owner: hers }
  const created = await sendOn(chain, { intent: await collectionsOf(chain).creation(asked), by: alice })
  expect(created.status).toMatchObject({ success: true, reason: null })
  expect(created.spent).toBeLessThanOrEqual(created.worstCost)
  const contract = created.status.contractAddress ?? ''
  expect(contract).toMatch(/^[0-9]+$/)
  expect(await chain.contractUri(contract)).toBe(ABOUT)
  const intent = await chain.mintIntent({ contract, from: hers, recipient: his, uri: URI })
  const minted = await sendOn(chain, { intent, by: alice })
  expect(minted.status).toMatchObject({ success: true, contractAddress: null })
  expect(minted.spent).toBeLessThanOrEqual(minted.worstCost)
  const items = [0n, 1n, 2n ** 32n].map((tokenId) => ({ contract, tokenId }))
  expect(await chain.tokenUris(items)).toEqual([URI, null, null])
  const move = { contract, from: his, recipient: hers, tokenId: 0n, amount: 1n }
  const moved = await sendOn(chain, { intent: await chain.transferNftIntent(move), by: bob })
  expect(moved.status.success).toBe(true)
  const { blockNumber } = moved.status
  const [block] = (await chain.movements({ fromBlock: blockNumber, toBlock: blockNumber })) ?? []
  const told = block?.movements.find(({ standard }) => standard === 'erc721')
  expect([told?.contract, told?.tokenId, told?.from, told?.to]).toEqual([contract, 0n, his, hers])
  // A former owner cannot move the item.
  const again = await chain.transferNftIntent(move)
  expect(await endOf(sendOn(chain, { intent: again, by: bob }))).toMatch(/^(?:Uniques|Nfts)\.NoPermission$/)
  return contract
}
