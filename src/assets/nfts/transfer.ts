import type { Network } from '../../../db/words.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import type { Remember } from '../../identity/idempotency/once.ts'
import type { SigningCtx } from '../../signing/ctx.ts'
import { parseAmount, parseQuantity, UINT256_END } from '../../signing/transactions/intent.ts'
import { type Submitted, submitIntent } from '../../signing/transactions/submit.ts'
import { resolveSigner, walletOf } from '../../signing/wallets/signer.ts'

type TransferNftInput = Signatory & {
  readonly network?: Network | undefined
  readonly from: string
  readonly contractAddress: string
  readonly recipient: string
  readonly tokenId: string
  readonly amount?: string | undefined
  readonly remember?: Remember<Submitted> | undefined
}

/** Transfers one NFT, or pieces of an ERC-1155 token, from a wallet of the project. */
export const transferNft = async (ctx: SigningCtx, input: TransferNftInput): Promise<Submitted> => {
  const signer = await resolveSigner(ctx, { ...input, address: input.from, field: 'from' })
  const { chain, address } = signer
  const contract = chain.parseContract(input.contractAddress, 'contract_address')
  const recipient = chain.parseAddress(input.recipient, 'recipient')
  const tokenId = parseQuantity(input.tokenId, 'token_id', UINT256_END)
  const amount = parseAmount(input.amount ?? '1', 'amount')
  const wallet = await walletOf(ctx, { ...input, signer })
  return submitIntent(ctx, {
    ...input,
    kind: 'transfer',
    chain,
    wallet,
    intents: async () => [await chain.transferNftIntent({ contract, from: address, recipient, tokenId, amount })],
  })
}
