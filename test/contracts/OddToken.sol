// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// Tokens whose Transfer events have a topic too few or too many: an NFT without an indexed id, a coin with an indexed amount.
contract OddToken {
    bool private immutable _isNft;

    constructor(bool isNft) {
        _isNft = isNft;
    }

    function supportsInterface(bytes4 id) external view returns (bool) {
        return _isNft && (id == 0x01ffc9a7 || id == 0x80ac58cd);
    }

    function totalSupply() external pure returns (uint256) {
        return 1;
    }

    function balanceOf(address) external pure returns (uint256) {
        return 1;
    }

    function allowance(address, address) external view returns (uint256) {
        require(!_isNft);
        return 0;
    }

    function move(address from, address to, uint256 amountOrId) public {
        bytes32 topic = keccak256("Transfer(address,address,uint256)");
        bool isNft = _isNft;
        assembly {
            mstore(0, amountOrId)
            switch isNft
            case 1 { log3(0, 32, topic, from, to) }
            default { log4(0, 0, topic, from, to, amountOrId) }
        }
    }

    /// A crowd that nobody asked for.
    function spam(address from, address to, uint256 count) external {
        for (uint256 i = 0; i < count; i++) move(from, to, i + 1);
    }
}
