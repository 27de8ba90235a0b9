// Reads the balances of an address at one final block: the free coin, and assets of the instances of pallet_assets.

import type { Balances } from '../chain.ts'
import { accountQuestion } from './account.ts'
import { readFinalState } from './blocks.ts'
import { contractIdOf, isAsset } from './contracts.ts'
import { assetQuestion } from './entries.ts'
import type { SubstrateNode } from './node.ts'
import { integerIn } from './values.ts'

/** As `Chain.balances` says. */
export const readBalances = async (
  node: SubstrateNode,
  { address, contracts }: { readonly address: string; readonly contracts: readonly string[] },
): Promise<Balances> => {
  const { head, runtime } = await readFinalState(node)
  const assets = contracts.flatMap((contract) => {
    const asset = contractIdOf(contract)
    return asset === null || !isAsset(asset) ? [] : [{ contract, asset }]
  })
  const [account, ...held] = await node.rpc.askAll([
    accountQuestion(runtime, address, head.hash),
    ...assets.map(({ asset }) => assetQuestion(runtime, { asset, entry: 'account', holder: address }, head.hash)),
  ])
  const balances = assets.map(({ contract }, index) => [contract, integerIn(held[index] ?? null, 'balance')] as const)
  return { coin: account.free, tokens: new Map(balances.filter(([, balance]) => balance > 0n)) }
}
