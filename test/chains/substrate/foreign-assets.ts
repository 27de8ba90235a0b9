// Assets of pallet ForeignAssets as Polkadot's Asset Hub keeps them: entries of ForeignAssets.Account as
// `state_getStorage` answered at block 21,155,423 (0x4862e0474ddd0f7d329b18862d717988e697cbdf333f1b5d2623400fcd98f236),
// runtime 2,005,000. A key ends in the Location in SCALE, behind its hash of 16 bytes, and the holder, behind hers.

import type { Hex } from '../../../src/chains/chain.ts'

/** Wrapped ether on Ethereum. */
export const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'

export const FOREIGN = {
  /** Ethereum's: GlobalConsensus(Ethereum { chain_id: 1 }). */
  ether: 'foreign:0x0201090704',
  weth: `foreign:0x020209070403${'00'}${WETH.slice(2)}`,
  /** Bifrost's: Parachain(2030), GeneralKey of two bytes. */
  vdot: `foreign:0x010200b91f06020900${'00'.repeat(30)}`,
} as const

type Held = {
  readonly contract: string
  readonly holder: string
  readonly key: Hex
  readonly value: Hex
  readonly amount: bigint
}

const ACCOUNT = '30e64a56026f4b5e3c2d196283a9a17db99d880ec681799c0cf30e8886371da9'

export const HELD: readonly Held[] = [
  {
    contract: FOREIGN.ether,
    holder: '12ZuLmUFSbn3GmmyDMkwz9tYVU3mPmxEKJqaBrWAzah8XHPJ',
    key: `0x${ACCOUNT}ebadc79f8d931a3b5b3e69a257ca50fa02010907040002e81240ac508cd74f0a05cbe83104455448000292ecaee3a76223d6b95adb969f19af7836c1770000000000000000`,
    value: '0xa49df0b7c019000000000000000000000001',
    amount: 28_315_510_414_756n,
  },
  {
    contract: FOREIGN.weth,
    holder: '16ZrR53r7eucMoemefV2G79SQaLaSE43sojcGShPW4YxhbQ8',
    key: `0x${ACCOUNT}1bb4b49f9a32f31e068e193911c066e102020907040300c02aaa39b223fe8d0a0e5c4f27ead9083c756cc201f0dff2ffa601d2fea536590c3e7111f63b5dac64b33afd6c642722d2a212421942ff13761f9b4edddbcd439576d51a`,
    value: '0x0000c16ff286230000000000000000000000',
    amount: 10n ** 16n,
  },
  {
    contract: FOREIGN.vdot,
    holder: '12xTvdsxPMao8DXfrfRo62fyrZ8XFGAT7xoWBFMC3Jap3Jyg',
    key: `0x${ACCOUNT}e1dc8b21729d781027e9d3da9ced5050010200b91f060209000000000000000000000000000000000000000000000000000000000000000b9ffa2129be2162165e29379af4cb7356895e148116ffe3390a47214d49496c7bb3578060c006ca4044b978b70db501`,
    value: '0x0003164e0200000000000000000000000000',
    amount: 9_900_000_000n,
  },
]
