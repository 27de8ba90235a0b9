import type { PrivateKeyAccount } from 'viem/accounts'
import type { Signable } from '../../../src/chains/contract-wallets.ts'
import { bytesToSign } from '../../../src/vault/rooms/keys/payloads.ts'

type Signer = Pick<PrivateKeyAccount, 'sign'>

/** Completes `signable` with a signature of the account's key, in the vault's form: r, s, recovery id. */
export const signedBy = async <Result>(
  account: Signer,
  { payload, with: finish }: Signable<Result>,
): Promise<Result> => {
  const hash = `0x${Buffer.from(bytesToSign('evm', payload)).toString('hex')}` as const
  const signature = Buffer.from((await account.sign({ hash })).slice(2), 'hex')
  return finish(Uint8Array.of(...signature.subarray(0, 64), (signature[64] ?? 0) - 27))
}
