import { AppError } from '../../../platform/errors.ts'
import { HeldKeys } from '../../../platform/sealing/bytes.ts'
import type { RoomCtx } from '../ctx.ts'
import { keyTypeOf } from '../keys/key-types.ts'
import { type Authorization, authorizationDigest } from '../keys/payloads.ts'
import { requireAllowed } from './delegates.ts'
import { isKeyringSetBack, type KeyRequest, readWallet, walletForged } from './read-wallet.ts'
import { openByAllCredentials } from './wallet-key.ts'

/** The chain is the wallet's: an authorisation for all chains (chain id 0) cannot be asked for. */
type AuthorizationRequest = KeyRequest & Pick<Authorization, 'delegate' | 'nonce'>

const hexOf = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`

/**
 * Signs an authorisation of EIP-7702, as `Vault.signAuthorization` says. @returns 65 bytes: r, s (low), recovery id.
 */
export const signAuthorization = async (
  ctx: RoomCtx,
  { delegate: text, nonce, ...request }: AuthorizationRequest,
): Promise<Uint8Array> => {
  using keys = new HeldKeys()
  const { actor } = request
  const { wallet, row } = await readWallet(ctx, request, isKeyringSetBack)
  const { id: subject, projectId, network, type, publicKey } = wallet
  const chain = ctx.chainOf(network)
  const { chainId } = chain
  if (chainId === undefined || type !== 'eoa') {
    throw new AppError('invalid_input', 'Only a wallet of type "eoa" on an EVM network can delegate to a contract.')
  }
  const delegate = text.toLowerCase()
  // Before the credentials, so that no guess is counted.
  await requireAllowed(ctx, { projectId, actor, network, address: delegate })
  const privateKey = keys.hold(await openByAllCredentials(ctx, { ...request, wallet, row }))
  const keyType = keyTypeOf({ wallet, chain, privateKey })
  if (keyType === null) throw walletForged(request)
  const bytes = authorizationDigest({ chainId, delegate, nonce })
  const signature = keyType.sign({ bytes, privateKey, publicKey })
  const details = { network, chain_id: String(chainId), delegate, nonce: String(nonce), hash: hexOf(bytes) }
  // Durable before the signature leaves.
  await ctx.audit.commit({ projectId, actor, action: 'authorization_signed', subject, details })
  return signature
}
