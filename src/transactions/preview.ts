import type { Network } from '../../db/words.ts'
import type { AddressFacts, Chain, Intent, Movement, Preview } from '../chains/chain.ts'
import type { Ctx } from '../context.ts'
import { displayAmount, nativeToken, tokenOf } from '../tokens/token.ts'
import { onlyNetwork } from '../wallets/signer.ts'
import { parseIntent } from './intent.ts'
import type { AssetChange, PreviewContract, PreviewResult } from './preview-schema.ts'

export type PreviewInput = {
  readonly projectId: string
  readonly network?: Network | undefined
  readonly from: string
  readonly unsignedTransactions: readonly Parameters<typeof parseIntent>[1][]
}

type Facts = ReadonlyMap<string, AddressFacts>

/**
 * What a bundle would do, in sequence, without sending it; a failed element fails alone.
 * @throws network_required, address_invalid, network_mismatch, invalid_input, node_unavailable.
 */
export const previewTransactions = async (
  ctx: Pick<Ctx, 'db' | 'chains'>,
  input: PreviewInput,
): Promise<readonly PreviewResult[]> => {
  const network = input.network ?? (await onlyNetwork(ctx, { ...input, address: input.from, field: 'from' }))
  const chain = ctx.chains.withNode(network)
  const from = chain.parseAddress(input.from, 'from')
  const [only] = input.unsignedTransactions
  const intents =
    input.unsignedTransactions.length === 1 && only !== undefined
      ? [parseIntent(chain, only)]
      : input.unsignedTransactions.map((text, index) => parseIntent(chain, text, `unsigned_transactions.${index}`))
  const previews = await chain.preview(from, intents)
  const facts = await chain.facts(addressesIn(intents, previews))
  return intents.map((intent, index) => {
    const preview = previews[index]
    if (preview === undefined) throw new Error('the chain previewed fewer transactions than it was given')
    return resultOf({ chain, from, intent, preview, facts })
  })
}

const addressesIn = (intents: readonly Intent[], previews: readonly Preview[]): readonly string[] => {
  const addresses = new Set<string>()
  for (const { to } of intents) if (to !== null) addresses.add(to)
  for (const { changes } of previews) {
    for (const { contract } of changes ?? []) if (contract !== null) addresses.add(contract)
  }
  return [...addresses]
}

const resultOf = (input: {
  readonly chain: Chain
  readonly from: string
  readonly intent: Intent
  readonly preview: Preview
  readonly facts: Facts
}): PreviewResult => {
  const { chain, from, intent, preview, facts } = input
  const called = intent.to === null ? undefined : facts.get(intent.to)
  return {
    network: chain.network,
    from,
    to: intent.to ?? '',
    contract: intent.to === null || called === undefined ? null : contractOf(chain.network, intent.to, called),
    function_name: preview.decoded?.functionName ?? null,
    arguments: preview.decoded === null ? null : { ...preview.decoded.arguments },
    simulation: {
      success: preview.success,
      asset_changes: preview.changes?.map((change) => changeOf(chain.network, change, facts)) ?? null,
      error: preview.error,
    },
  }
}

const isNft = (facts: AddressFacts): boolean => facts.standard === 'erc721' || facts.standard === 'erc1155'

/** null for an address without code. */
const contractOf = (network: Network, address: string, facts: AddressFacts): PreviewContract | null => {
  if (!facts.isContract) return null
  const shown = { network, address, name: facts.name, logo_url: '' }
  if (facts.standard === 'erc20')
    return { ...shown, type: 'token', token: tokenOf({ network, address, facts }), nft: null }
  if (!isNft(facts)) return { ...shown, type: 'other', token: null, nft: null }
  const nft = { network, contract_address: address, name: facts.name, image_url: '', symbol: facts.symbol }
  return { ...shown, type: 'nft', token: null, nft }
}

const changeOf = (network: Network, change: Movement, facts: Facts): AssetChange => {
  const { from, to, contract, tokenId } = change
  const moved = { from, to, raw_amount: change.amount.toString() }
  if (contract === null) {
    const token = nativeToken(network)
    return { ...moved, amount: displayAmount(change.amount, token.decimals), token, nft: null }
  }
  if (tokenId !== null) {
    const nft = { owner_wallet_address: to, contract_address: contract, token_id: tokenId.toString(), metadata: null }
    return { ...moved, amount: change.amount.toString(), token: null, nft }
  }
  const known = facts.get(contract) ?? { isContract: true, standard: 'erc20', name: '', symbol: '', decimals: 0 }
  const token = tokenOf({ network, address: contract, facts: known })
  return { ...moved, amount: displayAmount(change.amount, token.decimals), token, nft: null }
}
