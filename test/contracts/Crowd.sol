// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// Tells of many transfers in one transaction: from one of 1,000 senders to one of 10,000 receivers, each with its own value.
contract Crowd is ERC20("Crowd", "CROWD") {
    uint160 private constant FIRST_SENDER = uint160(0x11) << 152;
    uint160 private constant FIRST_RECEIVER = uint160(0x22) << 152;

    function tell(uint256 first, uint256 count) external {
        for (uint256 index = first; index < first + count; index++) {
            emit Transfer(
                address(FIRST_SENDER + uint160(index % 1000)),
                address(FIRST_RECEIVER + uint160((index * 7919) % 10000)),
                index + 1
            );
        }
    }
}
