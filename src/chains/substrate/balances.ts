// Reads the balances of an address at one final block: the free coin, and assets of the instances of pallet_assets.

import type { Balances } from '../chain.ts'
import { accountQuestion } from './account.ts'
import { readNow } from './blocks.ts'
import { contractIdOf, isAsset } from './contracts.ts'
import { assetQuestion, numberIn } from './entries.ts'
import type { SubstrateNode } from './node.ts'

/** As `Chain.balances` says. */
export const readBalances = async (
  node: SubstrateNode,
  { address, contracts }: { readonly address: string; readonly contracts: readonly string[] },
): Promise<Balances> => {
  const { head, runtime } = await readNow(node)
  const assets = contracts.flatMap((contract) => {
    const asset = contractIdOf(contract)
    return asset === null || !isAsset(asset) ? [] : [{ contract, asset }]
  })
  const [account, ...held] = await node.rpc.askAll([
    accountQuestion(runtime, address, head.hash),
    ...assets.map(({ asset }) => assetQuestion(runtime, { asset, entry: 'account', holder: address }, head.hash)),
  ])
  const tokens = new Map<string, bigint>()
  for (const [index, { contract }] of assets.entries()) {
    const balance = numberIn(held[index] ?? null, 'balance')
    if (balance > 0n) tokens.set(contract, balance)
  }
  return { coin: account.free, tokens }
}
