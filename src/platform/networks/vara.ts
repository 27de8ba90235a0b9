import type { SubstrateNetworkFile } from './network.ts'

export const vara = {
  network: 'Vara',
  family: 'substrate',
  ss58Prefix: 137,
  coin: { word: 'VARA', name: 'Vara', symbol: 'VARA', decimals: 12, displayDecimals: 4, logoUrl: '' },
  explorerUrls: { testnet: null, mainnet: 'https://vara.subscan.io' },
  blockIntervalMs: 3_000,
  hasPrograms: true,
  feeCapPlanck: 10_000n * 10n ** 12n,
  genesisHashes: {
    testnet: '0x525639f713f397dcf839bd022cd821f367ebcf179de7b9253531f8adbe5436d6',
    mainnet: '0xfe1b4c55fd4d668101126434206571a7838a8b6b93a6d1b95d607e78e6c53763',
  },
  localGenesisHash: '0x7c6ecc8ae11f8b263444c362321035a46e4e6008a3ab26ba3f41069f8f693734',
  hashedSymbols: { testnet: 'VARA', mainnet: 'VARA' },
  nobody: 'kGfXzQ99jakxFMQEox9iQYQ6zfMkwScJTScuPLSovqxjPbkXW',
} as const satisfies SubstrateNetworkFile
