import { createHash } from 'node:crypto'
import type { Network } from '../../../db/words.ts'
import type { Hex } from '../../chains/chain.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import { unreachable } from '../../platform/errors.ts'
import { onlySignature } from '../../vault/contract/contract.ts'
import type { SigningCtx } from '../ctx.ts'
import { readContractWallet } from '../wallets/contract-wallet.ts'
import { resolveKeySigner, walletOf } from '../wallets/signer.ts'
import { parseHex } from './intent.ts'

/** How a message is written: as its text, which is signed in UTF-8, or as 0x hex of its bytes. */
type MessageType = 'string' | 'bytes'

type SignMessageInput = Signatory & {
  readonly network?: Network | undefined
  readonly signerAddress: string
  readonly message: string
  readonly messageType: MessageType
}

const bytesOf = (message: string, type: MessageType): Uint8Array => {
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
 * Signs a message. For an eoa wallet by EIP-191, or sr25519 over <Bytes>…</Bytes>, without asking a node. For a contract
 * wallet by ERC-1271, wrapped as in ERC-6492 until it is deployed. The audit row has only the digest of the message. No
 * policy opens the key, and a shared keyring needs both credentials.
 */
export const signMessage = async (ctx: SigningCtx, input: SignMessageInput): Promise<Hex> => {
  const { messageType, credentials, actor } = input
  const signer = await resolveKeySigner(ctx, { ...input, address: input.signerAddress, field: 'signer_wallet_address' })
  const { chain } = signer
  const message = bytesOf(input.message, messageType)
  const row = await walletOf(ctx, { ...input, signer })
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
