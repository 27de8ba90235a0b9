import type { PrivateKeyAccount } from 'viem/accounts'
import type { Signable } from '../../../src/chains/contract-wallets.ts'

type Signer = Pick<PrivateKeyAccount, 'sign'>

/** What comes of a signature by an account's key, handed in as the vault makes it: r, s, recovery id. */
export const signedBy = async <Result>(account: Signer, { bytes, with: finish }: Signable<Result>): Promise<Result> => {
  const signature = Buffer.from(
    (await account.sign({ hash: `0x${Buffer.from(bytes).toString('hex')}` })).slice(2),
    'hex',
  )
  return finish(Uint8Array.of(...signature.subarray(0, 64), (signature[64] ?? 0) - 27))
}
