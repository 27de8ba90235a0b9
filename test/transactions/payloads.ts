/** A payload in the form of @polkadot/api, of no network. */
export const somePayload = (address: string) => ({
  address,
  assetId: null,
  blockHash: `0x${'12'.repeat(32)}`,
  blockNumber: '0x00000001',
  era: '0x0500',
  genesisHash: `0x${'34'.repeat(32)}`,
  metadataHash: null,
  method: '0x000000',
  mode: 0,
  nonce: '0x00000000',
  signedExtensions: ['CheckNonce'],
  specVersion: '0x00000001',
  tip: '0x00000000000000000000000000000000',
  transactionVersion: '0x00000001',
  version: 4,
  withSignedTransaction: false,
})
