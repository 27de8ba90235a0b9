// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// What the GasPriceOracle of an OP-stack chain answers after each upgrade, by the OP-stack specs. Nothing is in storage, so that
/// the code can be put at any address.
contract FjordOracle {
    uint256 private immutable l1Fee;

    constructor(uint256 l1Fee_) {
        l1Fee = l1Fee_;
    }

    function getL1FeeUpperBound(uint256) external view returns (uint256) {
        return l1Fee;
    }
}

contract IsthmusOracle is FjordOracle {
    uint256 internal immutable operatorFeeScalar;
    uint256 internal immutable operatorFeeConstant;

    constructor(uint256 l1Fee_, uint32 scalar, uint64 constant_) FjordOracle(l1Fee_) {
        operatorFeeScalar = scalar;
        operatorFeeConstant = constant_;
    }

    function getOperatorFee(uint256 gasUsed) external view virtual returns (uint256) {
        return gasUsed * operatorFeeScalar / 1e6 + operatorFeeConstant;
    }
}

contract JovianOracle is IsthmusOracle {
    constructor(uint256 l1Fee_, uint32 scalar, uint64 constant_) IsthmusOracle(l1Fee_, scalar, constant_) {}

    function getOperatorFee(uint256 gasUsed) external view override returns (uint256) {
        return gasUsed * operatorFeeScalar * 100 + operatorFeeConstant;
    }
}

/// Has the function, which reverts.
contract RefusingOracle is FjordOracle {
    constructor(uint256 l1Fee_) FjordOracle(l1Fee_) {}

    function getOperatorFee(uint256) external pure returns (uint256) {
        revert("no operator fee");
    }
}

/// Answers nothing to a function that it lacks.
contract SilentOracle is FjordOracle {
    constructor(uint256 l1Fee_) FjordOracle(l1Fee_) {}

    fallback() external {}
}
