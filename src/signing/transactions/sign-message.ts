import { createHash } from 'node:crypto'
import type { Hex } from '../../chains/chain.ts'
import { AppError, unreachable } from '../../platform/errors.ts'
import { onlySignature } from '../../vault/contract/contract.ts'
import type { SigningCtx } from '../ctx.ts'
import { invalidInput, NONCE_END, parseQuantity, UINT256_END } from '../schema.ts'
import {
  findSignerWallet,
  readContractWallet,
  resolveKeySigner,
  resolveSigner,
  type SignerInput,
} from '../wallets/signer.ts'
import { parseHex } from './intent.ts'
import { nextNonceChooser } from './nonce.ts'

type SignAuthorizationInput = SignerInput & {
  readonly authorization: {
    readonly contract_address: string
    readonly chain_id?: string
    readonly nonce?: string
  }
}

/** An authorisation for chain id 0 would be valid on every chain. */
const requireChainId = (text: string | undefined, chainId: number): void => {
  if (text === undefined) return
  if (parseQuantity(text, 'authorization.chain_id', UINT256_END) === BigInt(chainId)) return
  throw invalidInput(
    `Field "authorization.chain_id" must be ${chainId}, the chain id of the network. An authorisation for all chains (0) is never signed.`,
  )
}

/**
 * For the account of an eoa wallet (EIP-7702). It needs the credentials of all control modes, and no policy allows it.
 * The vault refuses a delegate that the project does not name, except the zero address, which ends a delegation.
 */
export const signAuthorization = async (ctx: SigningCtx, input: SignAuthorizationInput) => {
  const { authorization, credentials, actor } = input
  const signer = await resolveSigner(ctx, input)
  const { chain, address } = signer
  if (chain.delegation === null) {
    throw new AppError('not_implemented', `Accounts of ${chain.network} cannot delegate to a contract.`)
  }
  const { chainId } = chain.delegation
  requireChainId(authorization.chain_id, chainId)
  const delegate = chain.parseAddress(authorization.contract_address, 'authorization.contract_address')
  const { nonce: text } = authorization
  const given = text === undefined ? null : Number(parseQuantity(text, 'authorization.nonce', NONCE_END))
  const wallet = await findSignerWallet(ctx, { ...input, signer })
  if (wallet.type === 'contract') {
    throw invalidInput('Field "signer_wallet_address" must be a wallet of type "eoa": a contract has its own code.')
  }
  const next = nextNonceChooser(ctx, { network: chain.network, address })
  const nonce = given ?? (await next(await chain.transactionCounts(address)))
  const signature = Buffer.from(await ctx.vault.signAuthorization({ wallet, credentials, actor, delegate, nonce }))
  const part = (start: number) => `0x${signature.subarray(start, start + 32).toString('hex')}`
  const yParity = signature[64]
  if (yParity === undefined) throw new Error('the vault returned a short signature')
  return { chainId, address: delegate, nonce, yParity, r: part(0), s: part(32) }
}

/** How a message is written: as its text, which is signed in UTF-8, or as 0x hex of its bytes. */
type MessageType = 'string' | 'bytes'

type SignMessageInput = SignerInput & {
  readonly message: string
  readonly messageType: MessageType
}

const parseMessage = (message: string, type: MessageType): Uint8Array => {
  switch (type) {
    case 'string':
      return Buffer.from(message, 'utf8')
    case 'bytes':
      return Buffer.from(parseHex(message, 'message').slice(2), 'hex')
    default:
      return unreachable(type)
  }
}

/**
 * By EIP-191, or sr25519 over <Bytes>…</Bytes>; for a contract wallet by ERC-1271, in ERC-6492 until it is deployed.
 * The audit has only the digest. No policy opens the key, and a shared keyring needs both credentials.
 */
export const signMessage = async (ctx: SigningCtx, input: SignMessageInput): Promise<Hex> => {
  const { messageType, credentials, actor } = input
  const signer = await resolveKeySigner(ctx, input)
  const { chain } = signer
  const message = parseMessage(input.message, messageType)
  const row = await findSignerWallet(ctx, { ...input, signer })
  const contract = await readContractWallet(chain, row)
  const signable =
    contract === null
      ? chain.message(message)
      : contract.contractWallets.message(contract.wallet, { message, isDeployed: contract.isDeployed })
  const digest = createHash('sha256').update(message).digest('hex')
  const details = { message_type: messageType, message_sha256: digest }
  const { payload } = signable
  const uses = [{ action: 'message_signed', details, payloads: [payload] }] as const
  return signable.with(onlySignature(await ctx.vault.signMessage({ wallet: row, credentials, actor, uses })))
}
