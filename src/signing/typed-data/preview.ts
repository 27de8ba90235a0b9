import type { HasDb } from '../../../db/client.ts'
import type { Reach } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import type { Chain, Intent } from '../../chains/chain.ts'
import type { HasChains } from '../../chains/chains.ts'
import type { HasClock } from '../../platform/clock.ts'
import type { HasConfig } from '../../platform/config.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import type { HasVault } from '../../vault/contract/vault.ts'
import type { TypedData } from '../../vault/language/payload.ts'
import { previewSignaturePolicy } from '../policies/preview.ts'
import { nativeToken, type TokenDisplays, tokenDisplays, tokenOf } from '../token.ts'
import { previewTransactions } from '../transactions/preview.ts'
import type { HasWallets } from '../wallets/ours.ts'
import { resolveSigner } from '../wallets/signer.ts'
import { type Meaning, type Move, meaningOf } from './meaning.ts'
import type { Change, TypedDataPreview } from './preview-schema.ts'
import { parseTypedData } from './read.ts'
import type { TypedDataField } from './schema.ts'
import { valuesOf } from './values.ts'
import { amountOf, type Known, summaryOf, warningsOf } from './words.ts'

/** No more than a bundle may have. */
const CALLS_MAX = 50

type PreviewInput = Reach & {
  readonly network?: Network | undefined
  readonly signerAddress: string
  readonly typedData: TypedDataField
}

type Previewing = HasConfig & HasDb & HasChains & HasVault & HasWallets & HasClock & HasIdentity

const addressesIn = ({ contract, spender, moves }: Meaning): readonly string[] => [
  ...new Set([contract, spender, ...moves.map((move) => move.contract)].filter((address) => address !== null)),
]

const changeOf = (known: Known & { readonly chain: Chain; readonly displays: TokenDisplays }, move: Move): Change => {
  const { chain, facts, displays } = known
  const { effect, standard, contract, tokenId, amount, isUnlimited, from, to } = move
  const moved = {
    effect,
    from,
    to,
    raw_amount: amount.toString(),
    amount: isUnlimited ? 'unlimited' : amountOf(known, move),
  }
  if (standard === 'coin' || contract === null) return { ...moved, token: nativeToken(chain), nft: null }
  if (standard === 'nft') {
    const token_id = tokenId === null ? '' : tokenId.toString()
    return {
      ...moved,
      token: null,
      nft: { owner_wallet_address: to, contract_address: contract, token_id, metadata: null },
    }
  }
  const said = facts.get(contract) ?? { name: '', symbol: '', decimals: null }
  const { network } = chain
  return {
    ...moved,
    token: tokenOf({ network, address: contract, facts: said, display: displays.get(contract) }),
    nft: null,
  }
}

type Calling = PreviewInput & {
  readonly chain: Chain
  readonly meaning: Meaning
  readonly calls: readonly Intent[] | null
}

/** Simulates the calls of a Safe's transaction, with the Safe as their sender. */
const callChanges = async (ctx: Previewing, input: Calling): Promise<readonly Change[]> => {
  const { chain, meaning, calls } = input
  if (calls === null || calls.length === 0) return []
  const previews = await previewTransactions(ctx, {
    ...input,
    network: chain.network,
    from: meaning.contract ?? '',
    unsignedTransactions: calls.slice(0, CALLS_MAX).map(({ to, value, input: data }) => ({
      ...(to === null ? {} : { to }),
      value: value.toString(),
      input: data,
    })),
  })
  return previews.map((call) => ({ effect: 'calls' as const, call }))
}

const callsIn = (chain: Chain, { operation }: Meaning): readonly Intent[] | null =>
  operation === null ? null : (chain.contractWallets?.callsOf(operation) ?? null)

const changesOf = async (
  ctx: Previewing,
  input: Calling & { readonly known: Parameters<typeof changeOf>[0]; readonly typedData: TypedData },
): Promise<readonly Change[]> => {
  const { meaning, known, typedData } = input
  const isUnread = meaning.kind === 'unknown' || (meaning.kind === 'safe_transaction' && input.calls === null)
  if (isUnread) return valuesOf(typedData)
  return [...meaning.moves.map((move) => changeOf(known, move)), ...(await callChanges(ctx, input))]
}

/** Says what typed data does, and what is dangerous about it. Nothing is signed. It is checked as for a signature. */
export const previewTypedData = async (ctx: Previewing, input: PreviewInput): Promise<TypedDataPreview> => {
  const { signerAddress: address } = input
  const { chain, address: signer } = await resolveSigner(ctx, { ...input, address, field: 'signer_wallet_address' })
  const { typedData } = parseTypedData(chain, input.typedData)
  const meaning = meaningOf(chain, { typedData, signer })
  const addresses = addressesIn(meaning)
  const [facts, displays, policy] = await Promise.all([
    chain.sureFacts(addresses),
    tokenDisplays(ctx, { chain, addresses }),
    previewSignaturePolicy(ctx, { ...input, chain, from: signer, typedData }),
  ])
  const known = { chain, facts, displays, listed: new Set(displays.keys()), signer, now: ctx.now() }
  const calls = callsIn(chain, meaning)
  const { primaryType, domain } = typedData
  const read = { meaning, primaryType, hasChainId: domain.chainId !== undefined, calls }
  return {
    kind: meaning.kind,
    summary: summaryOf(known, read),
    primary_type: primaryType,
    domain: input.typedData.domain,
    changes: [...(await changesOf(ctx, { ...input, chain, meaning, calls, known, typedData }))],
    warnings: [...warningsOf(known, read)],
    ...(policy === null ? {} : { policy }),
  }
}
