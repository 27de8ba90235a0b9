import {
  EIP_7825_GAS,
  type EvmNetworkFile,
  GWEI,
  logoUrlOf,
  POOL_TRANSACTION_BYTES,
  TWO_SECOND_BLOCKS,
} from './network.ts'
import { CBBTC, DAI, LINK, USDC, USDT, WETH } from './tokens.ts'

export const base = {
  network: 'Base',
  family: 'evm',
  // chainlist of ethereum-lists.
  chainIds: { testnet: 84_532, mainnet: 8453 },
  coin: { word: 'ETH', name: 'Ether', symbol: 'ETH', decimals: 18, displayDecimals: 6, logoUrl: logoUrlOf('ethereum') },
  explorerUrls: { testnet: 'https://sepolia.basescan.org', mainnet: 'https://basescan.org' },
  minPriorityFeeWei: GWEI / 1_000n,
  believedTipWei: 2n * GWEI,
  maxFeePerGasCapWei: 200n * GWEI,
  hasDataFloor: true,
  // Since Azul, 2026-05-28; on Sepolia since 2026-04-20 (specs.base.org, upgrades/azul/exec-engine). Deposits are
  // exempt.
  maxTransactionGas: EIP_7825_GAS,
  maxTransactionBytes: POOL_TRANSACTION_BYTES,
  confirmations: 5,
  finalDepth: 1_000,
  ...TWO_SECOND_BLOCKS,
  gasPriceOracle: '0x420000000000000000000000000000000000000F',
  coinContract: null,
  nameRegistry: null,
  tokens: {
    testnet: {
      '0x036CbD53842c5426634e7929541eC2318f3dCF7e': USDC,
      '0x4200000000000000000000000000000000000006': WETH,
      '0xE4aB69C077896252FAFBD49EFD26B5D171A32410': LINK,
    },
    mainnet: {
      '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913': USDC,
      '0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2': USDT,
      '0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb': DAI,
      '0x4200000000000000000000000000000000000006': WETH,
      '0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf': CBBTC,
      '0x88Fb150BDc53A65fe94Dea0c9BA0a6dAf8C6e196': LINK,
    },
  },
} as const satisfies EvmNetworkFile
