import { type EvmNetworkFile, GWEI, logoUrlOf, POOL_TRANSACTION_BYTES, TWO_SECOND_BLOCKS } from './network.ts'
import { DAI, LINK, USDC, USDT, WBTC, WETH } from './tokens.ts'

const WAVAX = { logoUrl: logoUrlOf('avalanchec'), displayDecimals: 4 }

export const avalanche = {
  network: 'Avalanche',
  family: 'evm',
  // chainlist of ethereum-lists.
  chainIds: { testnet: 43_113, mainnet: 43_114 },
  coin: {
    word: 'AVAX',
    name: 'Avalanche',
    symbol: 'AVAX',
    decimals: 18,
    displayDecimals: 4,
    logoUrl: logoUrlOf('avalanchec'),
  },
  explorerUrls: { testnet: 'https://testnet.snowtrace.io', mainnet: 'https://snowtrace.io' },
  minPriorityFeeWei: GWEI / 1_000n,
  believedTipWei: 20n * GWEI,
  // Before fees followed the load (ACP-176), inscriptions raised them above 1,000 gwei.
  maxFeePerGasCapWei: 2_000n * GWEI,
  hasDataFloor: false,
  // coreth has no EIP-7825 (core/txpool/validation.go): only the gas limit of a block.
  maxTransactionGas: null,
  maxTransactionBytes: POOL_TRANSACTION_BYTES,
  confirmations: 1,
  finalDepth: 12,
  ...TWO_SECOND_BLOCKS,
  gasPriceOracle: null,
  coinContract: null,
  nameRegistry: null,
  tokens: {
    testnet: {
      '0x5425890298aed601595a70AB815c96711a31Bc65': USDC,
      '0xd00ae08403B9bbb9124bB305C09058E32C39A48c': WAVAX,
      '0x0b9d5D9136855f6FEc3c0993feE6E9CE8a297846': LINK,
    },
    mainnet: {
      '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E': USDC,
      '0x9702230A8Ea53601f5cD2dc00fDBc13d4dF4A8c7': USDT,
      '0xd586E7F844cEa2F87f50152665BCbc2C279D8d70': DAI,
      '0x49D5c2BdFfac6CE2BFdB6640F4F80f226bc10bAB': WETH,
      '0x50b7545627a5162F82A992c33b87aDc75187B218': WBTC,
      '0x5947BB275c521040051D82396192181b413227A3': LINK,
      '0xB31f66AA3C1e785363F0875A1B74E27b85FD66c7': WAVAX,
    },
  },
} as const satisfies EvmNetworkFile
