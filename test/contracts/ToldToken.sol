// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ERC1967Proxy} from "@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy.sol";
import {BeaconProxy} from "@openzeppelin/contracts/proxy/beacon/BeaconProxy.sol";
import {UpgradeableBeacon} from "@openzeppelin/contracts/proxy/beacon/UpgradeableBeacon.sol";

/// A token of which everybody holds seven, and whose answers somebody else chooses: nothing reverts, one byte never ends.
contract ToldToken {
    event Transfer(address indexed from, address indexed to, uint256 value);

    bytes private _name;
    bytes private _symbol;
    bytes private _decimals;

    constructor(bytes memory name_, bytes memory symbol_, bytes memory decimals_) {
        setUp(name_, symbol_, decimals_);
    }

    function setUp(bytes memory name_, bytes memory symbol_, bytes memory decimals_) public {
        (_name, _symbol, _decimals) = (name_, symbol_, decimals_);
    }

    function name() external view virtual {
        _tell(_name);
    }

    function symbol() external view {
        _tell(_symbol);
    }

    function decimals() external view {
        _tell(_decimals);
    }

    function totalSupply() external pure returns (uint256) {
        return 7;
    }

    function balanceOf(address) external pure returns (uint256) {
        return 7;
    }

    function allowance(address, address) external pure returns (uint256) {
        return 0;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        emit Transfer(msg.sender, to, value);
        return true;
    }

    function _tell(bytes memory answer) private pure {
        require(answer.length > 0);
        while (answer.length == 1) {}
        assembly {
            return(add(answer, 32), mload(answer))
        }
    }
}

/// Its name is a letter, so many times.
contract LongToken is ToldToken {
    uint256 private immutable _length;

    constructor(uint256 length, bytes memory symbol_, bytes memory decimals_) ToldToken("", symbol_, decimals_) {
        _length = length;
    }

    function name() external view override {
        uint256 length = _length;
        assembly {
            mstore(0x80, 32)
            mstore(0xa0, length)
            for { let at := 0 } lt(at, length) { at := add(at, 32) } {
                mstore(add(0xc0, at), 0x4141414141414141414141414141414141414141414141414141414141414141)
            }
            return(0x80, add(64, length))
        }
    }
}

contract TokenProxy is ERC1967Proxy {
    constructor(address implementation, bytes memory data) ERC1967Proxy(implementation, data) {}
}

contract TokenBeacon is UpgradeableBeacon {
    constructor(address implementation) UpgradeableBeacon(implementation, msg.sender) {}
}

contract TokenBeaconProxy is BeaconProxy {
    constructor(address beacon, bytes memory data) BeaconProxy(beacon, data) {}
}
