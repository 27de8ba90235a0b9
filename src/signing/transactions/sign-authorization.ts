import type { Network } from '../../../db/words.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import { AppError } from '../../platform/errors.ts'
import type { SigningCtx } from '../ctx.ts'
import { resolveSigner, walletOf } from '../wallets/signer.ts'
import { NONCE_END, parseQuantity, UINT256_END } from './intent.ts'
import { nextNonceOf } from './next-nonce.ts'

type SignAuthorizationInput = Signatory & {
  readonly network?: Network | undefined
  readonly signerAddress: string
  readonly authorization: {
    readonly contract_address: string
    readonly chain_id?: string
    readonly nonce?: string
  }
}

/** An authorisation of EIP-7702 with its signature. `address`: the delegate. */
type SignedAuthorization = {
  readonly chainId: number
  readonly address: string
  readonly nonce: number
  readonly yParity: number
  /** 32 bytes in 0x hex. */
  readonly r: string
  readonly s: string
}

/** An authorisation for chain id 0 would be valid on every chain. */
const requireChainId = (text: string | undefined, chainId: number): void => {
  if (text === undefined) return
  if (parseQuantity(text, 'authorization.chain_id', UINT256_END) === BigInt(chainId)) return
  throw new AppError(
    'invalid_input',
    `Field "authorization.chain_id" must be ${chainId}, the chain id of the network. An authorisation for all chains (0) is never signed.`,
  )
}

/**
 * Signs an authorisation for the account of an eoa wallet to run the code of a contract (EIP-7702). Sends nothing. It needs the
 * credentials of all control modes, as a message does, and no policy allows it. The vault refuses a delegate that the project
 * does not name; the zero address, which ends a delegation, needs no name.
 */
export const signAuthorization = async (
  ctx: SigningCtx,
  input: SignAuthorizationInput,
): Promise<SignedAuthorization> => {
  const { authorization, credentials, actor } = input
  const signer = await resolveSigner(ctx, { ...input, address: input.signerAddress, field: 'signer_wallet_address' })
  const { chain, address } = signer
  if (chain.delegation === null) {
    throw new AppError('not_implemented', `Accounts of ${chain.network} cannot delegate to a contract.`)
  }
  const { chainId } = chain.delegation
  requireChainId(authorization.chain_id, chainId)
  const delegate = chain.parseAddress(authorization.contract_address, 'authorization.contract_address')
  const { nonce: text } = authorization
  const given = text === undefined ? null : Number(parseQuantity(text, 'authorization.nonce', NONCE_END))
  const wallet = await walletOf(ctx, { ...input, signer })
  if (wallet.type === 'contract') {
    throw new AppError(
      'invalid_input',
      'Field "signer_wallet_address" must be a wallet of type "eoa": a contract has its own code.',
    )
  }
  const next = nextNonceOf(ctx, { network: chain.network, address })
  const nonce = given ?? (await next(await chain.transactionCounts(address)))
  const signature = Buffer.from(await ctx.vault.signAuthorization({ wallet, credentials, actor, delegate, nonce }))
  const part = (start: number) => `0x${signature.subarray(start, start + 32).toString('hex')}`
  const yParity = signature[64]
  if (yParity === undefined) throw new Error('custody returned a short signature')
  return { chainId, address: delegate, nonce, yParity, r: part(0), s: part(32) }
}
