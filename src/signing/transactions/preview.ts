import type { Reach } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import type { AddressFacts, Chain, Intent, Movement, Preview } from '../../chains/chain.ts'
import { displayAmount } from '../../platform/amount.ts'
import { AppError } from '../../platform/errors.ts'
import type { SigningCtx } from '../ctx.ts'
import { previewPolicies } from '../policies/preview.ts'
import { contractOf, nativeToken, type TokenDisplays, tokenDisplays, tokenOf } from '../token.ts'
import { onlyNetwork } from '../wallets/signer.ts'
import { parseIntent } from './intent.ts'
import type { AssetChange, PreviewResult } from './preview-schema.ts'

type PreviewInput = Reach & {
  readonly network?: Network | undefined
  readonly from: string
  readonly unsignedTransactions: readonly Parameters<typeof parseIntent>[1][]
}

type Known = {
  readonly chain: Chain
  readonly facts: ReadonlyMap<string, AddressFacts>
  readonly displays: TokenDisplays
}

/** A preview makes several requests, one after the other; all together may take this many times the limit of one. */
const NODE_TIMEOUTS_MAX = 3
/** Less than the minute after which the server closes an idle connection. */
const LIMIT_MS = 50_000

/** Simulates transactions in sequence and sends nothing. One that fails does not fail another. */
export const previewTransactions = async (ctx: SigningCtx, input: PreviewInput): Promise<readonly PreviewResult[]> => {
  const limitMs = Math.min(NODE_TIMEOUTS_MAX * ctx.config.nodeTimeoutMs, LIMIT_MS)
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.reject(new AppError('node_unavailable', `The node did not answer all of a preview within ${limitMs} ms.`))
  }, limitMs)
  try {
    return await Promise.race([previewAll(ctx, input), late.promise])
  } finally {
    clearTimeout(timer)
  }
}

const previewAll = async (ctx: SigningCtx, input: PreviewInput): Promise<readonly PreviewResult[]> => {
  const network = input.network ?? (await onlyNetwork(ctx, { ...input, address: input.from, field: 'from' }))
  const chain = ctx.chains.withNode(network)
  const from = chain.parseAddress(input.from, 'from')
  const [only] = input.unsignedTransactions
  const intents =
    input.unsignedTransactions.length === 1 && only !== undefined
      ? [parseIntent(chain, only)]
      : input.unsignedTransactions.map((text, index) => parseIntent(chain, text, `unsigned_transactions.${index}`))
  // The called addresses are known before the preview: read both in one round trip.
  const [previews, called, policies] = await Promise.all([
    chain.preview(from, intents),
    chain.sureFacts(listAddresses(intents, [])),
    previewPolicies(ctx, { ...input, chain, from, intents }),
  ])
  const addresses = listAddresses(intents, previews)
  const [moved, displays] = await Promise.all([
    chain.sureFacts(addresses.filter((address) => !called.has(address))),
    tokenDisplays(ctx, { chain, addresses, projectId: input.projectId }),
  ])
  const known = { chain, displays, facts: new Map([...called, ...moved]) }
  return intents.map((intent, index) => {
    const preview = previews[index]
    if (preview === undefined) throw new Error('the chain previewed fewer transactions than it was given')
    return {
      ...describeResult(known, { from, intent, preview }),
      ...(policies[index] ? { policy: policies[index] } : {}),
    }
  })
}

const listAddresses = (intents: readonly Intent[], previews: readonly Preview[]): readonly string[] => {
  const addresses = new Set<string>()
  for (const { to } of intents) if (to !== null) addresses.add(to)
  for (const { changes, feeInAsset } of previews) {
    for (const { contract } of changes ?? []) if (contract !== null) addresses.add(contract)
    if (feeInAsset !== undefined) addresses.add(feeInAsset.contract)
  }
  return [...addresses]
}

/** The place of the recipient among the arguments of EIP-20. */
const RECIPIENT_AT: Readonly<Record<string, number>> = { transfer: 0, transferFrom: 1 }

/** Read from the arguments: tokens that keep a fee also move coins to themselves. */
const describeWarnings = (
  { to }: Intent,
  { decoded }: Preview,
  called: AddressFacts | undefined,
): readonly string[] => {
  const at = RECIPIENT_AT[decoded?.functionName ?? '']
  const isLost = called?.standard !== 'erc721' && at !== undefined && Object.values(decoded?.arguments ?? {})[at] === to
  return isLost ? ['It sends tokens to their own contract, where they are lost.'] : []
}

const describeResult = (
  known: Known,
  { from, intent, preview }: { readonly from: string; readonly intent: Intent; readonly preview: Preview },
): PreviewResult => {
  const { chain, facts, displays } = known
  const called = intent.to === null ? undefined : facts.get(intent.to)
  const warnings = describeWarnings(intent, preview, called)
  return {
    ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
    network: chain.network,
    from,
    to: intent.to ?? '',
    contract:
      intent.to === null || called === undefined
        ? null
        : contractOf({ chain, address: intent.to, facts: called, display: displays.get(intent.to) }),
    function_name: preview.decoded?.functionName ?? null,
    arguments: preview.decoded === null ? null : { ...preview.decoded.arguments },
    simulation: {
      success: preview.success,
      asset_changes: preview.changes?.map((change) => describeChange(known, change)) ?? null,
      error: preview.error,
      ...(preview.feeInAsset === undefined ? {} : { fee: fungible(known, preview.feeInAsset) }),
    },
  }
}

const fungible = (
  { chain: { network }, facts, displays }: Known,
  { contract, amount }: { readonly contract: string; readonly amount: bigint },
) => {
  const token = tokenOf({ network, address: contract, facts: facts.get(contract), display: displays.get(contract) })
  return { amount: displayAmount(amount, token.decimals), raw_amount: amount.toString(), token }
}

const describeChange = (known: Known, { from, to, contract, tokenId, amount }: Movement): AssetChange => {
  const moved = { from, to, raw_amount: amount.toString() }
  if (contract === null) {
    const token = nativeToken(known.chain)
    return { ...moved, amount: displayAmount(amount, token.decimals), token, nft: null }
  }
  if (tokenId !== null) {
    const nft = { owner_wallet_address: to, contract_address: contract, token_id: tokenId.toString(), metadata: null }
    return { ...moved, amount: moved.raw_amount, token: null, nft }
  }
  return { ...moved, ...fungible(known, { contract, amount }), nft: null }
}
