import type { PrivateKeyAccount } from 'viem/accounts'
import type { Signable } from '../../../src/chains/contract-wallets.ts'

type Signer = Pick<PrivateKeyAccount, 'sign'>

/** Completes `signable` with a signature of the account's key, in the vault's form: r, s, recovery id. */
export const signedBy = async <Result>(account: Signer, { bytes, with: finish }: Signable<Result>): Promise<Result> => {
  const signature = Buffer.from(
    (await account.sign({ hash: `0x${Buffer.from(bytes).toString('hex')}` })).slice(2),
    'hex',
  )
  return finish(Uint8Array.of(...signature.subarray(0, 64), (signature[64] ?? 0) - 27))
}
