import { logoUrlOf, type SubstrateNetworkFile } from './network.ts'

/** Polkadot Asset Hub, and Paseo Asset Hub as its testnet. */
export const polkadot = {
  network: 'Polkadot',
  family: 'substrate',
  ss58Prefix: 0,
  coin: {
    word: 'DOT',
    name: 'Polkadot',
    symbol: 'DOT',
    decimals: 10,
    displayDecimals: 4,
    logoUrl: logoUrlOf('polkadot'),
  },
  explorerUrls: { testnet: 'https://assethub-paseo.subscan.io', mainnet: 'https://assethub-polkadot.subscan.io' },
  blockIntervalMs: 6_000,
  hasPrograms: false,
  feeCapPlanck: 100n * 10n ** 10n,
  genesisHashes: {
    testnet: '0xd6eec26135305a8ad257a20d003357284c8aa03d0bdb2b357ab0a22371e11ef2',
    mainnet: '0x68d56f15f85d3136970ec16946040bc1752654e906147f7e43e9d539d7c3de2f',
  },
  localGenesisHash: '0x2b5593578c1709fa33218f5e6b488138dffa6798e08ae90589720dadec13b6fd',
  // Paseo's coin has another symbol.
  hashedSymbols: { testnet: 'PAS', mainnet: 'DOT' },
  nobody: '111111111111111111111111111111111HC1',
} as const satisfies SubstrateNetworkFile
