// The values of the vault's contract: what an API may load of it beside the language of policies and the client. Types come from
// vault.ts, which loads every room: other programs import nothing but types from there.

/** The developer secret of every project on testnet: published, so that anyone can try the service. */
export const TESTNET_DEVELOPER_SECRET = 'testnet-secret'

/** The signatures of each use. EVM: 65 bytes, r, s (low), recovery id. Substrate: 64 bytes, sr25519. */
export type Signatures = readonly (readonly Uint8Array[])[]

/** The signature of one use with one payload. @throws Error if the vault returned none. */
export const onlySignature = (signatures: Signatures): Uint8Array => {
  const signature = signatures[0]?.[0]
  if (signature === undefined) throw new Error('the vault returned no signature')
  return signature
}
